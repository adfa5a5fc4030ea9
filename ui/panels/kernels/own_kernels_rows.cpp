#include "ui/panels/kernels/own_kernels_rows.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/files/file.h"
#include "gpu/files/text.h"
#include "gpu/files/utf8.h"
#include "gpu/ops/variant.h"
#include "ui/panels/kernels/ladder_rows.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::KernelStage;
using training::KernelVersion;
using training::UserKernel;

bool is_under_way(KernelStage stage) {
  return stage != KernelStage::ready && stage != KernelStage::refused;
}

std::string with_article(KernelStage stage) {
  switch (stage) {
    case KernelStage::waiting:
      return "It waits until the file is whole and those before it are done.";
    case KernelStage::compiling:
      return "It is being compiled.";
    case KernelStage::proving:
      return "It is being proved, in a process of its own.";
    case KernelStage::timing:
      return "It is right, and is being timed beside the other variants.";
    case KernelStage::ready:
      return "It is right.";
    case KernelStage::refused:
      break;
  }
  return "It cannot be used.";
}

const training::KernelTime* time_of(const training::KernelShapeTimes& shape, std::string_view variant,
                                    int number) {
  const auto found = std::ranges::find_if(shape.times, [&](const training::KernelTime& time) {
    return time.variant == variant && time.version == number && time.microseconds.samples > 0;
  });
  return found == shape.times.end() ? nullptr : &*found;
}

bool is_of_user(std::string_view variant) {
  return variant.starts_with(ops::kUsers);
}

/// "0.42x the time of"; medians of the same work differ by 2 % from one minute to the next (messages/measured.h).
std::string times_text(double ratio) {
  return ratio > 0.98 && ratio < 1.02 ? "about the time of" : ratio_text(ratio) + " the time of";
}

std::string milliseconds_text(double milliseconds) {
  return milliseconds > 0 ? with_thousands(milliseconds, milliseconds < 10 ? 1 : 0) + " ms" : "";
}

std::string error_text(const KernelVersion& version) {
  if (version.calls == 0) return "";
  return version.worst_error > 0 ? fmt::format("{:.1e}", version.worst_error) : "0";
}

std::string occupancy_text(const KernelVersion& version) {
  const double occupancy = version.gpu ? version.gpu->occupancy : 0;
  return occupancy > 0 ? fmt::format("{:.0f} %", 100 * occupancy) : "";
}

int count_of(const KernelVersion& version, std::string_view instruction) {
  if (!version.gpu) return 0;
  for (const auto& [name, count] : version.gpu->instructions) {
    if (name == instruction) return count;
  }
  return 0;
}

struct FactRow {
  const char* name;
  std::string (*text)(const KernelVersion&);  ///< "" where it is not known
  const char* tip;
};

constexpr std::array kFacts{
    FactRow{"compiled",
            [](const KernelVersion& v) {
              const std::string time = milliseconds_text(v.compile_milliseconds);
              return v.cached ? "kept from before" : time;
            },
            "How long the checked build and the fast one took to compile; the same text is compiled once."},
    FactRow{"proved", [](const KernelVersion& v) { return milliseconds_text(v.proof_milliseconds); },
            "How long the proof took, in a process of its own."},
    FactRow{"calls", [](const KernelVersion& v) { return v.calls > 0 ? with_thousands(v.calls) : ""; },
            "Calls on random shapes that gave what the reference gives, of both builds."},
    FactRow{"worst error", error_text,
            "||result - reference|| / ||reference|| of the fast build, where it is largest relative to its "
            "tolerance."},
    FactRow{"tolerance",
            [](const KernelVersion& v) {
              return v.calls > 0 && v.tolerance > 0 ? fmt::format("{:.1e}", v.tolerance) : "";
            },
            "How large that error may be, from the precision and the length of the sum."},
    FactRow{"registers", [](const KernelVersion& v) { return v.gpu ? with_thousands(v.gpu->registers) : ""; },
            "Those of a thread: more of them leave room for fewer threads on a multiprocessor."},
    FactRow{"shared memory",
            [](const KernelVersion& v) {
              return v.gpu ? bytes_text(static_cast<double>(v.gpu->shared_bytes)) : "";
            },
            "That of a block, static and dynamic."},
    FactRow{"spills",
            [](const KernelVersion& v) {
              return v.gpu ? bytes_text(static_cast<double>(v.gpu->spill_bytes)) : "";
            },
            "What a thread keeps in local memory because there are too few registers."},
    FactRow{"occupancy", occupancy_text,
            "Warps that a multiprocessor holds at once, over the most that fit on it."},
};

constexpr std::size_t kMostInstructions = 8;

/// The most frequent ones, how often they stand in the machine code.
void add_instructions(const KernelVersion& now, const KernelVersion* before, std::vector<KernelFact>& facts) {
  if (!now.gpu) return;
  const auto& all = now.gpu->instructions;
  for (std::size_t i = 0; i < std::min(all.size(), kMostInstructions); ++i) {
    const auto& [name, count] = all[i];
    const bool known = before != nullptr && before->gpu && !before->gpu->instructions.empty();
    facts.push_back({files::sayable(name), with_thousands(count),
                     known ? with_thousands(count_of(*before, name)) : "",
                     "Instructions of that name in the machine code (SASS)."});
  }
}

std::string why_no_apply(const UserKernel& kernel, const KernelVersion* version) {
  if (version == nullptr)
    return kernel.problem.empty() ? "The file has not been looked at yet." : kernel.problem;
  if (is_under_way(version->stage)) return with_article(version->stage);
  if (version->stage == KernelStage::refused)
    return "It does not compile, or is wrong: see what is said below.";
  return kernel.used() == version->number ? "It runs already." : "";
}

}  // namespace

std::string_view short_name(const UserKernel& kernel) {
  std::string_view name = kernel.variant;
  if (is_of_user(name)) name.remove_prefix(ops::kUsers.size());
  return name;
}

TonedText state_of(const UserKernel& kernel) {
  const KernelVersion* const newest = kernel.newest();
  const int used = kernel.used();
  const std::string runs = used > 0 ? fmt::format(", version {} runs", used) : "";
  if (kernel.gone) return {"no file" + runs, Tone::warning};
  if (newest == nullptr) {
    return kernel.problem.empty() ? TonedText{"waiting", Tone::muted} : TonedText{"refused", Tone::error};
  }
  if (newest->stage == KernelStage::refused) return {"refused" + runs, Tone::error};
  if (is_under_way(newest->stage)) return {std::string(to_string(newest->stage)) + runs, Tone::warning};
  if (used == newest->number) return {"in use", Tone::good};
  return {"ready" + runs, Tone::plain};
}

TonedText verdict_of(const UserKernel& kernel, const KernelVersion* version) {
  if (version == nullptr || version == kernel.newest()) {
    if (!kernel.problem.empty()) return {files::sayable(kernel.problem), Tone::error};
    if (kernel.gone)
      return {"The file is not there or cannot be read; what was proved of it stays.", Tone::warning};
  }
  if (version == nullptr) return {"The file has not been looked at yet.", Tone::muted};
  const bool refused = version->stage == KernelStage::refused;
  if (is_under_way(version->stage) || version->sentence.empty())
    return {with_article(version->stage), refused ? Tone::error : Tone::muted};
  return {files::sayable(version->sentence), refused ? Tone::error : Tone::good};
}

std::string own_kernels_summary(const training::UserKernels& kernels) {
  const auto in_use =
      std::ranges::count_if(kernels.kernels, [](const UserKernel& each) { return each.used() > 0; });
  const std::size_t files = kernels.kernels.size();
  return fmt::format("{}, {} in use", files::counted(files, "file"), in_use);
}

const KernelVersion* version_of(const UserKernel& kernel, int number) {
  for (const auto& version : kernel.versions) {
    if (number > 0 && version->number == number) return version.get();
  }
  return kernel.newest();
}

const KernelVersion* version_before(const UserKernel& kernel, const KernelVersion& version) {
  const KernelVersion* before = nullptr;
  for (const auto& each : kernel.versions) {
    if (each->number < version.number && each->stage == KernelStage::ready) before = each.get();
  }
  return before;
}

std::string version_text(const UserKernel& kernel, const KernelVersion& version) {
  const bool used = kernel.used() > 0 && kernel.used() == version.number;
  return fmt::format("version {}, {}", version.number, used ? "in use" : to_string(version.stage));
}

double step_microseconds(const KernelVersion& version, std::string_view variant, int number) {
  double sum = 0;
  for (const training::KernelShapeTimes& shape : version.times) {
    const training::KernelTime* const time = time_of(shape, variant, number);
    if (time == nullptr) return 0;
    sum += time->microseconds.median * static_cast<double>(std::max<std::size_t>(1, shape.layers.size()));
  }
  return sum;
}

double own_microseconds(const UserKernel& kernel, const KernelVersion& version) {
  return step_microseconds(version, kernel.variant, version.number);
}

std::optional<Rival> best_rival(const KernelVersion& version) {
  std::optional<Rival> best;
  if (version.times.empty()) return best;
  for (const training::KernelTime& time : version.times.front().times) {
    if (is_of_user(time.variant)) continue;
    const double microseconds = step_microseconds(version, time.variant, time.version);
    if (microseconds > 0 && (!best || microseconds < best->microseconds)) best = {time.variant, microseconds};
  }
  return best;
}

std::string comparison_of(const UserKernel& kernel, const KernelVersion& version) {
  const double own = own_microseconds(kernel, version);
  if (own <= 0) return "";
  std::string text = fmt::format("{} \u00b5s in a step", with_thousands(own, own < 1000 ? 1 : 0));
  std::vector<std::string> parts;
  if (const auto rival = best_rival(version)) {
    parts.push_back(fmt::format("{} {}, the fastest of the others", times_text(own / rival->microseconds),
                                rival->variant));
  }
  const KernelVersion* const before = version_before(kernel, version);
  const double was = before == nullptr ? 0 : step_microseconds(version, kernel.variant, before->number);
  if (was > 0) parts.push_back(fmt::format("{} version {}", times_text(own / was), before->number));
  return parts.empty() ? text : fmt::format("{}: {}", text, fmt::join(parts, ", and "));
}

std::vector<KernelBars> bars_of(const UserKernel& kernel, const KernelVersion& version) {
  std::vector<KernelBars> groups;
  for (const training::KernelShapeTimes& shape : version.times) {
    KernelBars group;
    group.title = fmt::format("{}", fmt::join(shape.layers, ", "));
    if (kernel.op) group.subtitle = ops::describe(*kernel.op, shape.shape);
    const training::KernelTime* const own = time_of(shape, kernel.variant, version.number);
    for (const training::KernelTime& time : shape.times) {
      if (time.microseconds.samples == 0) continue;
      KernelBar bar{time.variant, "", time.microseconds};
      if (time.variant == kernel.variant) {
        bar.owner = time.version == version.number ? BarOwner::version : BarOwner::before;
        bar.note = bar.owner == BarOwner::version ? "this version" : fmt::format("version {}", time.version);
      }
      if (own != nullptr && own->microseconds.median > 0)
        bar.ratio = time.microseconds.median / own->microseconds.median;
      group.bars.push_back(std::move(bar));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<KernelFact> facts_of(const KernelVersion& now, const KernelVersion* before) {
  std::vector<KernelFact> facts;
  for (const FactRow& row : kFacts) {
    std::string text = row.text(now);
    if (text.empty()) continue;
    facts.push_back({row.name, std::move(text), before == nullptr ? "" : row.text(*before), row.tip});
  }
  add_instructions(now, before, facts);
  return facts;
}

std::string place_of(const user_kernels::Diagnostic& error) {
  std::string text = files::sayable(std::filesystem::path(error.file).filename().string());
  if (error.line > 0) text += fmt::format(":{}", error.line);
  if (error.line > 0 && error.column > 0) text += fmt::format(":{}", error.column);
  return text;
}

std::string untabbed(std::string_view line) {
  std::string text;
  for (const char each : line) text += each == '\t' ? std::string("    ") : std::string(1, each);
  return files::escaped(text);
}

ShownLine shown_line(const user_kernels::Diagnostic& error) {
  ShownLine shown{untabbed(error.text)};
  const auto column = static_cast<std::size_t>(std::max(error.column, 0));
  if (column > 0 && column <= error.text.size())
    shown.mark = static_cast<int>(untabbed(std::string_view(error.text).substr(0, column - 1)).size());
  return shown;
}

std::string report_of(const UserKernel& kernel, const KernelVersion* version) {
  std::string text = fmt::format("{}\n{}\n", files::sayable(kernel.file), verdict_of(kernel, version).text);
  if (version == nullptr) return text;
  for (const user_kernels::Diagnostic& error : version->errors) {
    text += fmt::format("{}: {}\n", place_of(error), files::sayable(error.message));
    const ShownLine line = shown_line(error);
    if (!line.text.empty()) text += fmt::format("  {}\n", line.text);
    if (line.mark >= 0) text += fmt::format("  {:{}}^\n", "", line.mark);
  }
  if (const std::string comparison = comparison_of(kernel, *version); !comparison.empty())
    text.append(comparison).append("\n");
  return text;
}

std::vector<KernelChoice> choices_of(const UserKernel& kernel, const KernelVersion* version) {
  const std::string op = kernel.op ? std::string(ops::to_string(*kernel.op)) : std::string("its operation");
  const int number = version == nullptr ? 0 : version->number;
  const bool in_use = kernel.used() > 0;
  return {
      {"apply", "Apply",
       fmt::format("Version {} runs {} from the next step on; Ctrl Z takes it back", number, op),
       why_no_apply(kernel, version), training::UseKernel{kernel.file, number}},
      {"leave", "Take back", fmt::format("{} is run by what was chosen before", op),
       in_use ? "" : "It does not run.", training::UseKernel{kernel.file, 0}},
      {"forget", "Forget",
       fmt::format("The file is watched no longer, and user:{} is nothing to choose any more; the file stays",
                   short_name(kernel)),
       "", training::ForgetKernel{kernel.file}},
  };
}

std::string why_no_own_kernels(const training::Snapshot& snapshot) {
  if (std::string why = why_no_steering(snapshot); !why.empty()) return why;
  if (!snapshot.user_kernels->why_not.empty()) return sentence(snapshot.user_kernels->why_not);
  return why_it_stands(snapshot);
}

std::string why_no_loading(const training::Snapshot& snapshot) {
  if (std::string why = why_no_own_kernels(snapshot); !why.empty()) return why;
  return snapshot.can.files ? "" : "The training runs on another machine, which has other files.";
}

}  // namespace warpscope::ui
