"""What the tests ask of a shared library, by readelf, which reads those of every processor."""
import re
import subprocess

PAGE = 16384


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, capture_output=True, text=True).stdout


def dynamic_symbols(path):
    """The names that a library defines, and those that others have to."""
    defined, undefined = set(), set()
    for line in readelf("--dyn-syms", path).splitlines():
        words = line.split()
        if len(words) >= 8 and words[0].rstrip(":").isdigit():
            (undefined if words[6] == "UND" else defined).add(words[7].split("@")[0])
    return defined, undefined


def dynamic_entries(path, kind):
    return re.findall(r"\(%s\).*\[(.*)\]" % kind, readelf("--dynamic", path))


def has_large_pages(path):
    """Whether each segment that is loaded begins where a page of 16 KB may."""
    segments = re.findall(r"LOAD\s+(0x\S+) (0x\S+) .* (0x\S+)$", readelf("--program-headers", path), re.M)
    return bool(segments) and all(int(align, 16) % PAGE == 0 and (int(offset, 16) - int(address, 16)) % PAGE == 0
                                  for offset, address, align in segments)
