"""The completions in zsh."""

import shutil
import tempfile
import unittest

from harness import CompletionTests, Shell, shell_or_skip

SETUP = r"""
PROMPT='' RPROMPT='' PROMPT_EOL_MARK=''
unset zle_bracketed_paste
unsetopt beep
fpath=(FILES $fpath)
autoload -Uz compinit && compinit -u -d DUMP
zstyle ':completion:*' completer _complete
zstyle ':completion:all:*' completer _all_matches _complete
zstyle ':completion:all:*' insert yes
zle -C all complete-word _generic
answer() { printf '%s\0' "$BUFFER" >&9 }
zle -N answer
bindkey -e
bindkey '^T' all
bindkey '^G' answer
bindkey '^I' complete-word
_unheard_of() { _arguments '--its-own' '*:fruit:(apple)' }
compdef _unheard_of unheard-of-program
"""


class ZshTest(CompletionTests, unittest.TestCase):
    shell = "zsh"

    @classmethod
    def setUpClass(cls):
        cls.path = shell_or_skip("ZSH_SHELL")
        cls.cache = tempfile.mkdtemp(prefix="completion.")  # what compinit finds out, once for all tests
        cls.addClassCleanup(shutil.rmtree, cls.cache)

    def file(self, command):
        return f"_{command}"

    def start(self, work, environment):
        (self.folder / "home" / ".zshrc").write_text(SETUP.replace("FILES", f"{self.folder}/files").replace("DUMP", f"{self.cache}/dump"))
        return Shell(work, [self.path, "-d", "-i"], environment | {"ZDOTDIR": str(self.folder / "home")})


if __name__ == "__main__":
    unittest.main()
