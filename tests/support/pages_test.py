"""What has a row in a table of the program is named where pages and tests list it too, and files that pages and
comments point to are there. Reads sources and pages only: nothing else would miss these."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
faults, found = [], 0


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def section(page, heading):
    return re.search(rf"^#+ {heading}$(.*?)(?=^#|\Z)", text_of(page), re.MULTILINE | re.DOTALL)[1]


def first_cells(text):
    return " ".join(re.findall(r"^\| (.*?) \|", text, re.MULTILINE))


def named(what, rows, where, there, pattern=r"\b{}\b"):
    """Each of `rows` is in `there`, the text of `where`."""
    global found
    found += len(rows)
    if not rows:
        faults.append(f"no {what} found in the sources: this test reads them wrongly")
    faults.extend(f"{where} lacks the {what} {row}" for row in rows
                  if not re.search(pattern.format(re.escape(row)), there))


kinds = re.findall(r'LayerRow\{.*?\.name = "(\w+)"', text_of("gpu/models/layer.cpp"), re.DOTALL)
named("kind of layers", kinds, "docs/networks.md", first_cells(section("docs/networks.md", "Layers")), "`{}`")
named("kind of layers", kinds, "KINDS of tests/peers/torch_layers.py", text_of("tests/peers/torch_layers.py"),
      r'Kind\("[^"]*", "{}"')

inside = re.split("# --- .*", text_of("tests/peers/torch_inside.py"))[1]  # its networks
tried = [kind for title, kind in re.findall(r'Kind\("([^"]*)", "(\w+)"', text_of("tests/peers/torch_layers.py"))
         if re.search(rf'[,=] ?"{title}"', inside)]
named("kind of layers", kinds, "networks() of tests/peers/torch_inside.py", " ".join(tried))

rules = re.findall(r'\.rule = .*?\.name = "(\w+)"', text_of("gpu/ops/optimizer/update_rule.h"), re.DOTALL)
named("optimizer", rules, "RULES of tests/peers/torch_optimizers.py", text_of("tests/peers/torch_optimizers.py"),
      r'(?m)^    "{}": ')

by_hand = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/ops").glob("*_test.cpp")
                  if path.stem not in ("variants_test", "tables_test", "launch_test"))  # of the tables, not of numbers
ops = re.findall(r"^  X\((\w+),", text_of("gpu/ops/op_list.h"), re.MULTILINE)
named("op", ops, "numbers worked out by hand, tests/ops,", by_hand, r"\bOp::{}\b")

metrics = re.findall(r'\{Metric::\w+, "(\w+)"', text_of("gpu/messages/metrics.cpp"))
figures = re.findall(r'Figure\{"(\w+)"', text_of("gpu/runs/figure_table.cpp"))
named("metric", metrics, "docs/runs.md", text_of("docs/runs.md"))
named("figure of a run", figures, "docs/runs.md", text_of("docs/runs.md"))

sets = re.findall(r'\{\.name = "(\w+)"', text_of("gpu/data/sets.cpp"))
fetched = re.findall(r'\.data_set = "(\w+)"', text_of("app/fetch/sources.cpp"))
named("data set", sets, "docs/data.md", text_of("docs/data.md"), "`{}[`:]")
named("data set", fetched, "the row of warpscope fetch in the README", section("README.md", "Commands"), "`{}`")

tour = section("README.md", "A tour")
titles = re.findall(r'PanelRow\{"\w+", "(\w+)"', text_of("ui/panels/panel_table.cpp"))
named("panel", titles, "the README's tour", first_cells(tour) + "".join(re.findall(r"\*\w+\*", tour)), r"(?i)\b{}\b")

layouts = re.findall(r'LayoutRow\{"(\w+)"', text_of("ui/docking/layouts.cpp"))
named("layout", layouts, "LAYOUTS of tests/ui/fitting.py",
      re.search(r"LAYOUTS = \(.*?\)", text_of("tests/ui/fitting.py"), re.DOTALL)[0], '"{}"')
named("layout", layouts, "the README's tour", tour)

# What Panels must pass on, and headings that need a tip.
panels = text_of("ui/panels/panels.h")
members = dict(re.findall(r"^  (\w+Panel) (\w+);", panels, re.MULTILINE))
headers = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "ui/panels").rglob("*.h"))}
for call, begin in (("shutdown", r"void shutdown\(\);"), ("follow", r"void follow\(const models::Model& ")):
    owners = [members[name] for text in headers.values() if re.search(begin, text)
              for name in re.findall(r"^class (\w+)", text, re.MULTILINE) if name in members]
    named(f"{call}() of the member", owners, "Panels", panels, rf"\b{{}}\.{call}\(")
tables = [re.findall(r"^class (\w+)", text, re.MULTILINE)[-1] for text in headers.values()
          if re.search(r"Column.*> columns\(\);", text)]
named("table of", tables, "main_tables() of tests/panels/terms_test.cpp", text_of("tests/panels/terms_test.cpp"),
      r"\b{}::columns\(\)")

# Tools that fill paragraphs spoil what is no paragraph: they put commands behind the remark of the line before.
for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
    name, text = page.relative_to(ROOT), page.read_text(encoding="utf-8")
    lines = text.splitlines()
    faults.extend(f"{name}:{i + 1} says once more what the line before says" for i in range(1, len(lines))
                  if lines[i] and lines[i] == lines[i - 1])
    for block in re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        remarks = [line.split("# ", 1) for line in block.splitlines() if "# " in line]
        faults.extend(f"{name}: a command stands in a remark: {remark}" for _, remark in remarks
                      if re.search(r"(?<!: )\bwarpscope( |$)", remark))

# A page answers in a minute.
for page, most in (("docs/performance.md", 126), ("docs/history.md", 58), ("docs/architecture.md", 121),
                   ("docs/ranks.md", 128), ("docs/adding.md", 191), ("README.md", 133)):
    lines = text_of(page).count("\n")
    if lines > most:
        faults.append(f"{page} has {lines} lines, more than {most}: rules go into headers, old figures go")
if tour.strip().count("\n") >= 38:
    faults.append("the README's tour has more than 38 lines")

# What pages and comments point to: files that are there, from the root or from tests/.
FOLDERS = ("app", "gpu", "ui", "tests", "docs", "assets", "third_party")
POINTER = re.compile(rf"(?<![\w/.-])(?:{'|'.join(FOLDERS)})/[a-z0-9_/.-]*\.(?:h|cpp|cuh?|py|md|cmake|sh)\b(?![\w*<])")
files = {str(path.relative_to(ROOT)): path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")}
for here, path in {**files, "README.md": ROOT / "README.md", "CMakeLists.txt": ROOT / "CMakeLists.txt"}.items():
    if path.suffix in (".h", ".cpp", ".cu", ".cuh", ".py", ".md", ".cmake", ".sh", ".txt"):
        pointers = set(POINTER.findall(path.read_text(encoding="utf-8")))
        found += len(pointers)
        faults.extend(f"{here} points to {name}, which is not there" for name in sorted(pointers)
                      if name not in files and f"tests/{name}" not in files)

print("\n".join(faults) or f"{found} names are where they must be")
sys.exit(bool(faults))
