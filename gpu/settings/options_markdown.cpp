// docs/options.md, from the table of settings.

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "gpu/ops/optimizer/update_rule.h"
#include "gpu/settings/setting.h"

namespace warpscope::training {
namespace {

/// A cell of a Markdown table: a bar would end it.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string option_text(const Setting& row) {
  if (row.field.kind == Kind::boolean) return fmt::format("`--{0}`, `--no-{0}`", option_of(row));
  const char* const value = row.field.kind == Kind::integer ? "N"
                            : row.field.kind == Kind::real  ? "X"
                                                            : row.placeholder;
  return fmt::format("`--{} {}`", option_of(row), value);
}

std::string settings_table(std::string_view table) {
  std::string text = "| Option | Key | Values | Default | What it does |\n| --- | --- | --- | --- | --- |\n";
  for (const Setting& row : settings()) {
    if (table != row.table) continue;
    text += fmt::format("| {} | `{}` | {} | {} | {} |\n", option_text(row), row.key, cell(values_of(row)),
                        cell(standard_of(row)), cell(capital(row.meaning)));
  }
  return text;
}

std::string parameter_text(const ops::HyperParameter& parameter) {
  return parameter.key == nullptr ? "" : fmt::format(", {} {:g}", parameter.key, parameter.standard);
}

std::string warmup_text(const ops::RuleRow& row) {
  return row.warmup == 0 ? "" : fmt::format(", warm-up {:g} epoch{}", row.warmup, row.warmup == 1 ? "" : "s");
}

std::string optimizers_table() {
  std::string text = "| Optimizer | What it does | Update | Its own numbers |\n| --- | --- | --- | --- |\n";
  for (const ops::RuleRow& row : ops::kUpdateRules) {
    text += fmt::format("| `{}` | {} | `{}` | lr {:g}{}{}{}, weight decay {:g}{} |\n", row.name, row.summary,
                        cell(row.formula), row.learning_rate, parameter_text(row.first_decay),
                        parameter_text(row.second_decay), parameter_text(row.epsilon), row.weight_decay,
                        warmup_text(row));
  }
  return text;
}

std::string schedules_table() {
  std::string text =
      "| Schedule | Parameter | Values | Default | What it does |\n| --- | --- | --- | --- | --- |\n";
  const Schedule standard;
  for (int i = 0; i < kScheduleKindCount; ++i) {
    const auto kind = static_cast<ScheduleKind>(i);
    for (const ScheduleParameter& parameter : parameters_of(kind)) {
      text += fmt::format("| `{}` | `{}` | {} | {:g} | {} |\n", to_string(kind), parameter.key,
                          range_of(parameter), standard.*parameter.value, parameter.meaning);
    }
  }
  return text;
}

}  // namespace

std::string options_markdown() {
  std::string text =
      "# Options\n\n"
      "The settings of a training, made by `warpscope config --markdown` from the table that the program "
      "reads its "
      "options,\nfiles and fields from. Each is an option of `warpscope` and `warpscope train`, and a key of "
      "a TOML "
      "file for `--config`\n(`warpscope config` prints one to start from); the command line overrides the "
      "file. "
      "`run.json` holds them by the\noption's name with `_` for `-` (`data_source`, `learning_rate`).\n";
  std::string_view table;
  for (const Setting& row : settings()) {
    if (table == row.table) continue;
    table = row.table;
    text += fmt::format("\n## [{}]\n\n{}", table, settings_table(table));
  }
  text += fmt::format(
      "\n## Optimizers\n\nThe numbers of the formulas are settings of [optimizer]: d is `momentum` or "
      "`beta1`, e is "
      "`beta2` or `alpha`. m' and s'\nare corrected for their start at 0. Weight decay joins the gradient g "
      "before, "
      "where the formula does not shrink p.\n\n{}",
      optimizers_table());
  text += fmt::format(
      "\n## Schedules\n\n`--schedule KIND:PARAMETER=VALUE,...`: what is left out has its default.\n\n{}",
      schedules_table());
  return text;
}

}  // namespace warpscope::training
