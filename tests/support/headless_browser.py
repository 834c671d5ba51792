"""A headless Chromium for the tests of pages."""
import shutil
import subprocess
import tempfile

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DARK = ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")
LIGHT = ("--blink-settings=preferredColorScheme=1",)


def browser():
    """The command of a Chromium that can show an empty page; None, after the reason, when there is none."""
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if not found:
        print("skipped: there is none of %s" % ", ".join(BROWSERS))
        return None
    try:
        done = run_browser(found, "--dump-dom", "data:text/html,<p>works</p>")
    except subprocess.TimeoutExpired:
        print("skipped: %s does not answer" % found)
        return None
    if done.returncode != 0 or "works" not in done.stdout:
        print("skipped: %s does not run: %s" % (found, done.stderr[-500:]))
        return None
    return found


def run_browser(command, *words):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own:
        return subprocess.run([command, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                               "--hide-scrollbars", "--allow-file-access-from-files", "--user-data-dir=" + own, *words],
                              capture_output=True, text=True, timeout=120, check=False)
