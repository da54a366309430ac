"""The completions in bash."""

import shutil
import subprocess
import unittest

from harness import COMMANDS, COMPLETION, REQUIRE_ALL, CompletionTests, Shell, shell_or_skip

SETUP = r"""
PS1='' PS2=''
set +o history
bind 'set bell-style none' 'set enable-bracketed-paste off' 'set completion-query-items 0' 'set page-completions off'
bind '"\C-t": insert-completions'
answer() { printf '%s\0' "$READLINE_LINE" >&9; }
bind -x '"\C-g": answer'
_unheard_of() {
    COMPREPLY=()
    local word
    for word in --its-own apple; do [[ $word == "$2"* && ${COMP_WORDS[0]} == *unheard-of-program && $COMP_LINE == *unheard* ]] && COMPREPLY+=("$word"); done
}
complete -F _unheard_of unheard-of-program
"""


class BashTest(CompletionTests, unittest.TestCase):
    shell = "bash"

    @classmethod
    def setUpClass(cls):
        cls.path = shell_or_skip("BASH_SHELL")

    def file(self, command):
        return command

    def start(self, work, environment):
        setup = self.folder / "setup"
        sources = "".join(f". '{self.folder}/files/{command}'\n" for command in COMMANDS)
        setup.write_text(SETUP + sources)
        return Shell(work, [self.path, "--noprofile", "--rcfile", str(setup), "-i"], environment)

    def test_what_cannot_be_executed_is_no_program(self):
        (self.folder / "bin" / "unheard-of-data").write_text("")
        self.shell_session.ask("unheard-of-function() { :; }; alias unheard-of-alias=true\r")
        self.assert_offered("landlock-exec unheard-of-")

    def test_without_word_breaks(self):
        """Where "=" does not take words apart."""
        self.write("a.policy", self.POLICY)
        self.shell_session.ask("COMP_WORDBREAKS=${COMP_WORDBREAKS//[=:]}\r")
        self.assertEqual(self.completed("landlock-exec -p a.policy --define=wo"), "landlock-exec -p a.policy --define=work=")
        self.assertEqual(self.completed("landlock-policy check --format=j"), "landlock-policy check --format=json ")

    def test_a_loader_of_completions_is_asked(self):
        self.shell_session.ask("load() { _late() { COMPREPLY=(late); }; complete -F _late \"$1\"; return 124; }; complete -D -F load\r")
        self.assertEqual(self.completed("landlock-exec something "), "landlock-exec something late ")

    def test_it_works_with_strict_settings(self):
        self.write("a.policy", self.POLICY)
        self.shell_session.ask("set -u; shopt -s failglob nullglob extglob\r")
        self.assert_offered("landlock-exec -p a.policy -D ", "work", "temp")
        self.assert_offered("landlock-exec --pass-fd ")
        self.assertEqual(self.completed("landlock-policy ch"), "landlock-policy check ")

    def test_the_function_as_bash_calls_it(self):
        """The words alone, without a line or a terminal."""
        script = (f". '{COMPLETION}/bash/landlock-policy'; COMP_WORDS=(landlock-policy check --format = j) COMP_CWORD=4; "
                  "_landlock_policy landlock-policy j =; printf '<%s>' \"${COMPREPLY[@]}\"")
        done = subprocess.run([self.path, "--norc", "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), ("<json>", ""))

    def test_shellcheck_has_no_complaint(self):
        if not shutil.which("shellcheck"):
            self.assertFalse(REQUIRE_ALL, "REQUIRE_ALL is set, and shellcheck is missing")
            self.skipTest("needs shellcheck")
        for command in COMMANDS:
            done = subprocess.run(["shellcheck", "--shell=bash", COMPLETION / "bash" / command], capture_output=True, text=True, check=False)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
