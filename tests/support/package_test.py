"""The Debian package of a build folder: package_test.py BUILD [CASE...]. cpack makes it of what is built there,
dpkg-deb unpacks it into an empty root, and the program runs from that root, with a home of its own. CI's step `package`
runs it.

It is packed by gzip, which takes a tenth of the time of xz: what people get is smaller than what is measured here.
"""
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import warpscope_program  # noqa: E402

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir))
FILES = ["usr/bin/warpscope", "usr/share/applications/warpscope.desktop", "usr/share/doc/warpscope/changelog.gz",
         "usr/share/doc/warpscope/copyright", "usr/share/icons/hicolor/scalable/apps/warpscope.svg",
         "usr/share/man/man1/warpscope.1.gz", "usr/share/warpscope/networks/resnet9.toml"]
MOST_MB = {"OFF": 25, "ON": 45}  # without and with CUDA variants


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


class Package(warpscope_program.ProgramCase):
    build = ""  # set below

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp(prefix="warpscope-package-")
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        output("cpack", "--config", os.path.join(cls.build, "CPackConfig.cmake"), "-G", "DEB", "-B", cls.made,
               "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=cls.build)
        cls.package = os.path.join(cls.made, next(name for name in os.listdir(cls.made) if name.endswith(".deb")))
        cls.root = os.path.join(cls.made, "root")
        output("dpkg-deb", "-x", cls.package, cls.root)
        warpscope_program.ProgramCase.program = os.path.join(cls.root, "usr/bin/warpscope")
        with open(os.path.join(cls.build, "CMakeCache.txt"), encoding="utf-8") as cache:
            cls.cache = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read(), re.MULTILINE))

    def field(self, name):
        return output("dpkg-deb", "-f", self.package, name, text=True).strip()

    def read(self, name):
        with open(os.path.join(self.root, name), "rb") as file:
            return file.read()

    def has_cuda(self):
        return b".nv_fatbin" in output("objdump", "-h", self.program)

    def test_files_are_where_they_belong(self):
        found = [os.path.relpath(os.path.join(folder, name), self.root)
                 for folder, _, names in os.walk(self.root) for name in names]
        self.assertEqual(set(FILES) - set(found), set())
        for name in set(found) - set(FILES):
            self.assertRegex(name, r"\Ausr/share/warpscope/networks/\w+\.toml\Z")
        self.assertNotIn(b".symtab", output("objdump", "-h", self.program))
        self.assertLess(os.path.getsize(self.package) / 1e6, MOST_MB["ON" if self.has_cuda() else "OFF"])

    def test_what_it_depends_on_is_no_part_of_cuda(self):
        self.assertEqual(self.field("Package"), "warpscope")
        self.assertEqual(self.field("Section"), "science")
        for package in ("libc6", "libstdc++6", "libarchive13"):
            self.assertRegex(self.field("Depends"), rf"\b{re.escape(package)}(t64)?\b")
        needed = re.findall(r"NEEDED +(\S+)", output("objdump", "-p", self.program, text=True))
        self.assertEqual([name for name in needed if re.match(r"lib(cu|nv|nccl)(?!rl\.)", name)], [])

    def test_the_menu_entry_names_what_is_installed(self):
        entry = dict(re.findall(r"^(\w+)=(.*)$", self.read("usr/share/applications/warpscope.desktop").decode(),
                                re.MULTILINE))
        self.assertTrue(os.access(os.path.join(self.root, "usr/bin", entry["Exec"]), os.X_OK))
        icons = os.path.join(self.root, "usr/share/icons/hicolor/scalable/apps")
        self.assertIn(entry["Icon"] + ".svg", os.listdir(icons))
        if shutil.which("desktop-file-validate"):
            output("desktop-file-validate", os.path.join(self.root, "usr/share/applications/warpscope.desktop"))

    def test_the_manual_page_names_every_command_and_prints_without_warnings(self):
        page = gzip.decompress(self.read("usr/share/man/man1/warpscope.1.gz"))
        commands = re.findall(r"(?m)^  (\w+) +[A-Z]", self.run_program("--help").out.split("Subcommands:")[1])
        self.assertEqual(re.findall(r"(?m)^\.SS warpscope (\w+)$", page.decode()), commands)
        missing = [option for option in (rb"\-\-lr", rb"\-\-samples", rb"\-\-no\-shuffle") if option not in page]
        self.assertEqual(missing, [])
        if shutil.which("groff"):
            printed = subprocess.run(["groff", "-man", "-ww", "-Kutf8", "-Tutf8"], input=page, capture_output=True,
                                     check=True)
            self.assertEqual(printed.stderr, b"")

    def test_no_file_names_the_source_tree(self):
        program = self.path("program")
        # Line tables of kernels name their files; the preset `package` leaves them out.
        tables = self.has_cuda() and self.cache.get("WARPSCOPE_LINE_TABLES") != "OFF"
        output("objcopy", *(["--remove-section=.nv_fatbin"] if tables else []), self.program, program)
        for name in [program, *(os.path.join(self.root, name) for name in FILES[1:])]:
            with (gzip.open if name.endswith(".gz") else open)(name, "rb") as file:
                self.assertNotIn(SOURCE.encode(), file.read(), name)

    def test_the_program_trains_from_its_new_place(self):
        self.assert_succeeded(self.run_program("--version"))
        listed = self.run_program("models")
        self.assert_succeeded(listed)
        self.assertIn("resnet9", listed.out)
        network = os.path.join(self.root, "usr/share/warpscope/networks/resnet9.toml")
        self.assert_succeeded(self.run_program("models", network))
        self.assert_succeeded(self.train("--model", "resnet9", "--run-dir", self.path("run"), steps=3))
        self.assertEqual(len(warpscope_program.losses_of(self.path("run"))), 3)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} BUILD [CASE...]")
    Package.build = os.path.abspath(sys.argv[1])
    sys.argv[1] = os.path.join(Package.build, "warpscope")
    warpscope_program.main()
