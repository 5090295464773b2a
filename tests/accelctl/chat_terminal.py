# SPDX-License-Identifier: Apache-2.0
"""chat_terminal.py ACCELCTL MODEL STATE: accelctl chat on a pseudo terminal, as a person uses it. Prints what failed."""
import os
import pty
import re
import select
import signal
import stat
import sys
import time

accelctl, model, state = sys.argv[1:4]
history = os.path.join(state, "accel", "chat_history")
arguments = [accelctl, "chat", "--chat-template", "chatml", "--greedy", "-n", "6"]
failures = 0


def fail(what, screen):
    global failures
    failures += 1
    print("FAIL:", what, repr(screen[-600:]))


class Terminal:
    def __init__(self, *more):
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(accelctl, arguments + list(more) + [model])
        self.screen = ""
        self.seen = 0

    def read(self, seconds):
        ready = select.select([self.file], [], [], seconds)[0]
        try:
            data = os.read(self.file, 65536) if ready else b""
        except OSError:
            return False
        self.screen += data.decode("utf-8", "replace")
        return bool(data)

    def wait(self, pattern, what, seconds=300):
        """Until the pattern is on the screen behind what was waited for last."""
        end = time.time() + seconds
        while time.time() < end:
            match = re.compile(pattern, re.S).search(self.screen, self.seen)
            if match:
                self.seen = match.end()
                return match
            if not self.read(max(0.0, end - time.time())):
                break
        fail("no " + what, self.screen[self.seen:])
        return None

    def send(self, text):
        os.write(self.file, text.encode())

    def end(self, status, what):
        end = time.time() + 300
        while time.time() < end and self.read(1):
            pass
        while time.time() < end:
            pid, code = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                got = os.waitstatus_to_exitcode(code)
                if got != status:
                    fail("%s: status %d, not %d" % (what, got, status), self.screen)
                return
            time.sleep(0.05)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        fail("the chat did not end: " + what, self.screen)


# Editing: the cursor goes left over a wide character, a word is taken back, and the history has the result.
t = Terminal()
t.wait(">>> ", "prompt")
t.send("Once \u00e9\u65e5\x1b[D\x1b[Dupon wrong\x17\n")
t.wait(r"\[prefill .*cached", "answer")
t.wait(">>> ", "prompt behind the answer")
# A message of several lines.
t.send('"""two\n')
t.wait(r"\.\.\. ", "second prompt")
t.send('lines"""\n')
t.wait(r"\[prefill", "answer to several lines")
t.wait(">>> ", "prompt")
# Ctrl-C empties the line, and the next one is whole.
t.send("not this\x03")
t.wait("Ctrl-C once more", "word about the second Ctrl-C")
t.wait(">>> ", "prompt")
# /s begins more than one command, and nothing is completed behind the first word.
t.send("/s\tave\t\n")
t.wait("/save requires", "answer of /save")
t.wait(">>> ", "prompt")
t.send("/sy\t Be brief.\n")
t.wait("system message set", "answer of /system, completed by Tab")
t.wait(">>> ", "prompt")
t.send("\x04")
t.end(0, "Ctrl-D")
if os.path.exists(history):
    with open(history, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if lines != ["Once upon \u00e9\u65e5", "two\\nlines", "/save", "/system Be brief."]:
        fail("the history", repr(lines))
    if stat.S_IMODE(os.stat(history).st_mode) != 0o600:
        fail("mode of the history", oct(os.stat(history).st_mode))
    # The next chat has it: two lines up and Return.
    t = Terminal()
    t.wait(">>> ", "prompt")
    t.send("\x1b[A\n")
    t.wait("system message set", "/system out of the history")
    # A second Ctrl-C at the prompt ends.
    t.wait(">>> ", "prompt")
    t.send("\x03")
    t.wait("once more.*>>> ", "prompt")
    t.send("\x03")
    t.end(130, "Ctrl-C twice")
else:
    print("skipped: no history; is libedit in this build?")

# Ctrl-C stops an answer and not the program; what there is of it stays in the conversation.
t = Terminal("--ignore-end", "-n", "100000", "--set", "kv.full=slide", "--no-cache")
t.wait(">>> ", "prompt")
t.send("Once\n")
# A slow machine shows first how long the prefill takes, in short lines that begin with \r.
t.wait(r"Once\r\n.*?[^\r]{40}", "long answer")
t.send("\x03")
t.wait("interrupted", "word about the interrupt")
t.wait(">>> ", "prompt behind the interrupt")
t.send("/set tokens=3\n")
t.wait(">>> ", "prompt")
t.send("again\n")
match = t.wait(r"\[prefill (\d+) tokens?, (\d+) cached; decode (\d+) tokens?", "answer behind the interrupt")
if match and (int(match.group(2)) < 10 or match.group(3) != "3"):
    fail("numbers behind an interrupt", match.group(0))
# SIGTERM at the prompt gives the terminal back.
t.wait(">>> ", "prompt")
os.kill(t.pid, signal.SIGTERM)
t.end(130, "SIGTERM")
sys.exit(1 if failures else 0)
