"""What has a row in a table of the program is named where pages and tests list it too. Reads sources and pages only: these
are the lists that nothing else would miss."""
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
    faults.extend(f"{where} lacks the {what} {row}" for row in rows if not re.search(pattern.format(re.escape(row)), there))


kinds = re.findall(r'LayerRow\{.*?\.name = "(\w+)"', text_of("gpu/models/layer.cpp"), re.DOTALL)
named("kind of layers", kinds, "docs/networks.md", first_cells(section("docs/networks.md", "Layers")), "`{}`")
named("kind of layers", kinds, "KINDS of tests/peers/torch_layers.py", text_of("tests/peers/torch_layers.py"), r'Kind\("[^"]*", "{}"')

rules = re.findall(r'\.rule = .*?\.name = "(\w+)"', text_of("gpu/ops/optimizer/update_rule.h"), re.DOTALL)
named("optimizer", rules, "RULES of tests/peers/torch_optimizers.py", text_of("tests/peers/torch_optimizers.py"), r'(?m)^    "{}": ')

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

# What Panels must pass on, and headings that need a tip.
panels = text_of("ui/panels/panels.h")
members = dict(re.findall(r"^  (\w+Panel) (\w+);", panels, re.MULTILINE))
headers = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "ui/panels").glob("*.h"))}
for call, begin in (("shutdown", r"void shutdown\(\);"), ("follow", r"void follow\(const models::Model& ")):
    owners = [members[name] for text in headers.values() if re.search(begin, text)
              for name in re.findall(r"^class (\w+)", text, re.MULTILINE) if name in members]
    named(f"{call}() of the member", owners, "Panels", panels, rf"\b{{}}\.{call}\(")
tables = [re.findall(r"^class (\w+)", text, re.MULTILINE)[-1] for text in headers.values() if re.search(r"Column.*> columns\(\);", text)]
named("table of", tables, "main_tables() of tests/panels/terms_test.cpp", text_of("tests/panels/terms_test.cpp"), r"\b{}::columns\(\)")

print("\n".join(faults) or f"{found} rows are named")
sys.exit(bool(faults))
