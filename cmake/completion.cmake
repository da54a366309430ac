# The completions of the shells, made at build time from the tables of the commands, of the policy language and of the diagnostics.

add_executable(make-completion cmd/make-completion/main.c cmd/make-completion/bash.c cmd/make-completion/zsh.c
               cmd/landlock-exec/table.c cmd/landlock-policy/table.c cmd/chat-files/table.c cmd/service-token/table.c)
target_include_directories(make-completion PRIVATE cmd)
target_compile_definitions(make-completion PRIVATE DEFAULT_POLICY="${policy_folder}/default.policy")
target_link_libraries(make-completion PRIVATE command policy lint)
harden(make-completion)

# add_completion(SHELL COMMAND FOLDER NAME): FOLDER/NAME below the folder of data, which DATADIR/FOLDER installs.
function(add_completion shell command folder name)
    set(template ${CMAKE_SOURCE_DIR}/cmd/make-completion/completion.${shell}.in)
    set(file ${CMAKE_BINARY_DIR}/completion/${shell}/${name})
    add_custom_command(OUTPUT ${file} COMMAND make-completion ${shell} ${command} ${template} > ${file}
                       DEPENDS make-completion ${template} VERBATIM)
    add_custom_target(completion-${shell}-${command} ALL DEPENDS ${file})
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endfunction()

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/completion/bash ${CMAKE_BINARY_DIR}/completion/zsh)
foreach(command landlock-exec landlock-policy chat-files service-token)
    add_completion(bash ${command} bash-completion/completions ${command})
    add_completion(zsh ${command} zsh/site-functions _${command})
endforeach()
