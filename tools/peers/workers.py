"""The parent's end of a peer's process, see worker.py."""
import json
import os
import queue
import subprocess
import tempfile
import threading

from .places import ROOT, Unavailable, last_words

ANSWER_S = 600


class Worker:
    """A peer that runs in a place. Raises Unavailable when it cannot."""

    def __init__(self, place, python, name, python_path=""):
        path = ":".join(part for part in (os.path.join(ROOT, "tools"), python_path) if part)
        self.name = name
        self.log = tempfile.TemporaryFile(mode="w+", errors="replace")
        self.process = subprocess.Popen(
            place.argv([python, "-u", "-m", "peers.worker", name, str(place.threads)]),
            env=dict(place.env, PYTHONPATH=path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            text=True)
        self.answers = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()
        try:
            hello = self.next_answer()
        except Unavailable:
            self.close()
            raise
        self.version, self.device = hello["version"], hello["device"]

    def listen(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def next_answer(self):
        try:
            line = self.answers.get(timeout=ANSWER_S)
        except queue.Empty:
            self.close()
            raise Unavailable("no answer within %d s" % ANSWER_S) from None
        if line is None:
            self.process.wait()
            self.log.seek(0)
            raise Unavailable("ended: %s" % (last_words(self.log.read()) or "status %d" % self.process.returncode))
        answer = json.loads(line)
        if "unavailable" in answer:
            raise Unavailable(last_words(answer["unavailable"]))
        return answer

    def measure(self, work, seconds):
        """{"ms": milliseconds of each run}"""
        try:
            self.process.stdin.write(json.dumps({"work": work, "seconds": seconds}) + "\n")
            self.process.stdin.flush()
        except (OSError, ValueError):
            raise Unavailable("ended early") from None
        return self.next_answer()

    def close(self):
        try:
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
