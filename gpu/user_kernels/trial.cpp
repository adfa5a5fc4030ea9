#include "gpu/user_kernels/trial.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/user_kernels/board.h"
#include "gpu/user_kernels/layout.h"
#include "gpu/user_kernels/process.h"

namespace warpscope::user_kernels {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kClockOverCpu = 10;
constexpr double kClockOverCpuOfGpu = 2;  // where a call takes milliseconds of a processor that waits or not
constexpr Seconds kLongestTrial(600);     // with the reference, on a machine that has much else to do

/// On the PATH or in CUDA's usual folder; "" where it is not.
std::string sanitizer() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(
      fmt::format("{}:/usr/local/cuda/bin:/opt/cuda/bin", path == nullptr ? "" : path));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/compute-sanitizer";
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

/// Memory that the trial process sees too.
class SharedBoard {
 public:
  SharedBoard() : file_(memory_file("warpscope_trial")) {
    void* memory = MAP_FAILED;
    if (::ftruncate(file_.number(), sizeof(Board)) == 0)
      memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
    if (memory == MAP_FAILED) throw core::Error("there is no memory for the trial of a kernel");
    board_ = static_cast<Board*>(memory);
  }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  ~SharedBoard() { ::munmap(board_, sizeof(Board)); }

  void show(const std::vector<ops::OpShape>& shapes) {
    const std::size_t count = std::min(shapes.size(), kMostShapes);
    std::copy_n(shapes.begin(), count, board_->shapes.begin());
    board_->shape_count = static_cast<std::uint32_t>(count);
  }
  int file() const { return file_.number(); }
  std::uint32_t stage() const { return std::atomic_ref(board_->stage).load(); }
  std::uint32_t launches() const { return std::atomic_ref(board_->launches).load(); }
  /// As it is now.
  Board copy() const { return *board_; }

 private:
  ranks::Descriptor file_;
  Board* board_ = nullptr;
};

template <std::size_t size>
std::string text_in(const std::array<char, size>& characters) {
  const auto end = std::find(characters.begin(), characters.end(), '\0');
  return files::sayable(
      std::string_view(characters.data(), static_cast<std::size_t>(end - characters.begin())));
}

/// Whether the code of the person runs in that stage.
bool is_theirs(std::uint32_t stage) {
  return stage == static_cast<std::uint32_t>(Stage::loading) ||
         stage == static_cast<std::uint32_t>(Stage::calling) ||
         stage == static_cast<std::uint32_t>(Stage::unloading);
}

/// How long one thing of the trial's has been under way.
class Patience {
 public:
  Patience(const SharedBoard& board, double call_seconds, double clock_over_cpu)
      : board_(board), call_(call_seconds), longest_(clock_over_cpu * call_seconds) {}

  /// False: too long.
  bool asks(pid_t process) {
    const std::uint32_t stage = board_.stage();
    const std::uint32_t launches = board_.launches();
    const Seconds used = cpu_time_of(process);
    const auto now = Clock::now();
    const Seconds since_look = now - std::exchange(looked_, now);
    if (!is_busy(process)) slept_ += since_look;  // one that waits for a processor is not to blame
    if (stage != stage_ || launches != launches_) {
      stage_ = stage;
      launches_ = launches;
      since_ = now;
      used_ = used;
      slept_ = {};
    }
    if (now - since_ >= kLongestTrial) return false;
    return !is_theirs(stage) || (used - used_ < call_ && slept_ < longest_);
  }

 private:
  const SharedBoard& board_;
  Seconds call_;
  Seconds longest_;
  std::uint32_t stage_ = 0, launches_ = 0;
  Clock::time_point since_ = Clock::now(), looked_ = since_;
  Seconds used_{}, slept_{};
};

std::string signal_text(int number) {
  switch (number) {
    case SIGSEGV:
    case SIGBUS:
      return "touches memory that is not its own";
    case SIGFPE:
      return "divides a whole number by zero";
    case SIGILL:
    case SIGTRAP:
      return "runs into an instruction that this processor does not have, or a trap";
    case SIGABRT:
      return "calls abort(), or an exception left one of its threads";
    case SIGKILL:
      return "was killed, as the system does where memory runs out";
    default:
      return fmt::format("was ended by signal {}", number);
  }
}

/// " at line 12, on 2x3x5x1 -> 4, 3x3"
std::string place_of(const Board& board, const char* before_line) {
  std::string text = board.report.line > 0 ? fmt::format("{}line {}", before_line, board.report.line) : "";
  const std::string shape = text_in(board.shape);
  return shape.empty() ? text : text + ", on " + shape;
}

std::string outside_text(const Source& source, const Board& board) {
  const kernel::Report& report = board.report;
  const auto operands = layouts_of(source.task());
  const auto operand = static_cast<std::size_t>(std::max(0, report.operand));
  const std::string_view name =
      operand < operands.size() ? ops::to_string(operands[operand].operand.name) : "?";
  const std::string which =
      report.dimension < 0
          ? std::string("its element")
          : fmt::format("its index {}", std::min(report.dimension, kernel::kMostIndices) + 1);
  const std::string shape = text_in(board.shape);
  if (report.late != 0) {
    return fmt::format("does not end within {:g} s, last at line {}{}", 1e-9 * kernel::kLongest,
                       report.fault_line, shape.empty() ? "" : ", on " + shape);
  }
  return fmt::format("leaves the operand '{}' at line {}: {} is {} there, and may be 0 to {}{}", name,
                     report.fault_line, which, report.index, std::max<kernel::Index>(report.extent, 1) - 1,
                     shape.empty() ? "" : ", on " + shape);
}

/// What a trial came to, behind the kernel's name; "" where all was right.
std::string outcome(const Source& source, const End& end, const Board& board, double call_seconds) {
  const auto stage = static_cast<Stage>(board.stage);
  if (board.report.faults > 0) return outside_text(source, board);
  if (end.killed && stage == Stage::unloading)
    return fmt::format("does not end within {:g} s when it is unloaded", call_seconds);
  if (end.killed)
    return fmt::format("does not end within {:g} s{}{}", call_seconds,
                       stage == Stage::loading ? ", and was not even called" : "",
                       place_of(board, ", last at "));
  if (end.signal != 0) return signal_text(end.signal) + place_of(board, ", after ");
  if (stage == Stage::failed) return text_in(board.sentence);
  if (stage == Stage::proved && end.code == 0) return "";
  return fmt::format("ends its process, with exit code {}{}", end.code, place_of(board, ", after "));
}

std::vector<std::string> trial_words(const Source& source, const std::filesystem::path& code,
                                     const std::vector<std::string>& words, const TrialOptions& options) {
  std::vector<std::string> arguments{kTrialCommand,        code.string(),
                                     source.file.string(), to_string(source.task()),
                                     options.device,       fmt::format("{}", options.seed)};
  arguments.insert(arguments.end(), words.begin(), words.end());
  return arguments;
}

/// A trial of one build, by what it is to do: "checked", "fast", or kTimesWord with other code. Returns what was wrong,
/// and what the board said at its end.
std::pair<std::string, Board> run_build(const Source& source, const std::filesystem::path& code,
                                        const std::vector<std::string>& words, const TrialOptions& options) {
  SharedBoard board;
  board.show(options.shapes);
  Process process(options.program, trial_words(source, code, words, options), -1, board.file());
  Patience patience(board, options.call_seconds,
                    source.language == Language::cuda ? kClockOverCpuOfGpu : kClockOverCpu);
  bool cancelled = false;
  const End end = process.wait([&] {
    cancelled = options.go_on && !options.go_on();
    return !cancelled && patience.asks(process.id());
  });
  if (cancelled) throw core::Error("the trial of the kernel was ended before it was done");
  const Board told = board.copy();
  return {outcome(source, end, told, options.call_seconds), told};
}

/// What run_build() returns.
using Outcome = std::pair<std::string, Board>;

Outcome try_checked(const Source& source, const Compilation& compiled, const TrialOptions& options) {
  return run_build(source, compiled.checked, {"checked"}, options);
}

Outcome try_fast(const Source& source, const Compilation& compiled, const TrialOptions& options) {
  return run_build(source, compiled.fast, {"fast"}, options);
}

/// Both builds at the same time, each on a core of its own; nothing of the fast one where the checked one is wrong,
/// which ends it.
std::pair<Outcome, std::optional<Outcome>> try_both(const Source& source, const Compilation& compiled,
                                                    const TrialOptions& options) {
  std::atomic<bool> needed = true;
  TrialOptions beside = options;
  beside.go_on = [&] { return needed && (!options.go_on || options.go_on()); };
  auto fast = std::async(std::launch::async, [&] { return try_fast(source, compiled, beside); });
  try {  // whatever happens, `fast` is waited for at the end of its life
    Outcome checked = try_checked(source, compiled, options);
    needed = checked.first.empty();
    if (!needed) return {std::move(checked), std::nullopt};
    return {std::move(checked), fast.get()};
  } catch (...) {
    needed = false;
    throw;
  }
}

/// One build.
void judge(const Source& source, bool checked, const Outcome& outcome, Verdict& verdict) {
  const auto& [what, told] = outcome;
  verdict.proved = what.empty();
  if (!verdict.proved) {
    verdict.sentence = fmt::format("{} {} {}{}", ops::to_string(source.op), source.variant, what,
                                   checked ? "" : " (the fast build; the checked one was right)");
    return;
  }
  verdict.calls += static_cast<int>(std::min(told.calls, 1'000'000u));
  verdict.worst_error = told.worst_error;
  verdict.tolerance = told.tolerance;
}

/// Runs the fast build under the tool: what that wrote. Throws core::Error if the calls were not all made.
std::string output_of_racecheck(const std::string& tool, const Source& source, const Compilation& compiled,
                                const TrialOptions& options) {
  SharedBoard board;
  std::error_code unknown;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", unknown);  // the tool is another program
  const bool is_own = options.program == "/proc/self/exe" && !unknown;
  std::vector<std::string> words{"--tool",
                                 "racecheck",
                                 "--target-processes",
                                 "all",
                                 "--print-limit",
                                 "20",
                                 "--show-backtrace",
                                 "no",
                                 is_own ? own.string() : options.program};
  for (std::string& each : trial_words(source, compiled.fast, {"fast"}, options))
    words.push_back(std::move(each));
  const ranks::Descriptor output = memory_file("warpscope_racecheck");
  Process process(tool, words, output.number(), board.file());
  const auto last = Clock::now() + kLongestTrial;
  bool cancelled = false;
  const End end = process.wait([&] {
    cancelled = options.go_on && !options.go_on();
    return !cancelled && Clock::now() < last;
  });
  if (cancelled) throw core::Error("the search for races was ended before it was done");
  if (end.killed) throw core::Error("compute-sanitizer does not end");
  std::string written = contents_of(output, std::size_t{1} << 20);
  if (board.stage() != static_cast<std::uint32_t>(Stage::proved) && races_in(written).empty())
    throw core::Error(
        "the calls did not come to their end under compute-sanitizer, so nothing is known of races");
  return written;
}

}  // namespace

std::string races_in(std::string_view output) {
  constexpr std::string_view kSummary = "RACECHECK SUMMARY: ", kRace = "Race reported between ",
                             kMore = "=========";
  std::istringstream lines{std::string(output)};
  std::string first, last;
  std::optional<int> hazards;
  bool goes_on = false;  // what a race is between stands in two lines
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find(kSummary); at != std::string::npos) {
      const std::string_view rest = std::string_view(line).substr(at + kSummary.size());
      hazards = files::number_in<int>(rest.substr(0, rest.find(' ')));
    }
    std::string_view text = line;
    if (text.starts_with(kMore)) text.remove_prefix(kMore.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (const std::size_t at = text.find(kRace); at != std::string_view::npos && first.empty()) {
      first = text.substr(at + kRace.size());
      goes_on = true;
    } else if (std::exchange(goes_on, false)) {
      first.append(" ").append(text);
    }
    if (!text.empty()) last = text;
  }
  if (!hazards)
    throw core::Error(fmt::format("compute-sanitizer has not done its work: {}",
                                  last.empty() ? "it is silent" : files::sayable(last)));
  if (*hazards == 0) return "";
  return fmt::format("races in shared memory: {}",
                     first.empty() ? "it is not told where" : files::sayable(first));
}

std::string no_racecheck() {
  return sanitizer().empty() ? "compute-sanitizer, which comes with CUDA's toolkit, is not installed" : "";
}

Races racecheck(const Source& source, const Compilation& compiled, const TrialOptions& options) {
  if (source.language != Language::cuda)
    throw core::BadInput("races in shared memory are looked for in kernels for a GPU only");
  if (const std::string why = no_racecheck(); !why.empty()) throw core::BadInput(why);
  const std::string races = races_in(output_of_racecheck(sanitizer(), source, compiled, options));
  return {!races.empty(),
          fmt::format("{} {} {}", ops::to_string(source.op), source.variant,
                      races.empty() ? "has no races in shared memory" : fmt::format("has {}", races))};
}

Verdict prove(const Source& source, const Compilation& compiled, const TrialOptions& options) {
  const auto begin = Clock::now();
  Verdict verdict;
  if (source.language == Language::cpp) {
    const auto [checked, fast] = try_both(source, compiled, options);
    judge(source, true, checked, verdict);
    if (fast) judge(source, false, *fast, verdict);
  } else {  // a GPU's time is shared: one that hangs would take that of the other
    judge(source, true, try_checked(source, compiled, options), verdict);
    if (verdict.proved) judge(source, false, try_fast(source, compiled, options), verdict);
  }
  if (verdict.proved) {
    verdict.sentence = fmt::format(
        "{} {} is right in {} calls; the worst relative error is {:.2g}, and may be {:.2g}",
        ops::to_string(source.op), source.variant, verdict.calls, verdict.worst_error, verdict.tolerance);
  }
  verdict.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return verdict;
}

Times time_kernel(const Source& source, const Compilation& compiled, const std::vector<OtherKernel>& others,
                  const TrialOptions& options) {
  std::vector<std::string> words{kTimesWord};
  for (const OtherKernel& each : others) {
    words.push_back(each.source.file.string());
    words.push_back(each.code.string());
    words.push_back(to_string(each.source.task()));
  }
  TrialOptions patient = options;  // these shapes are larger, and a slow kernel is no wrong one
  patient.call_seconds *= 5;
  const auto [what, told] = run_build(source, compiled.fast, words, patient);
  Times times;
  if (!what.empty()) {
    times.sentence = fmt::format("{} {} {} (it was right on smaller shapes)", ops::to_string(source.op),
                                 source.variant, what);
    return times;
  }
  const std::size_t shapes = std::min(options.shapes.size(), kMostShapes);
  for (std::size_t i = 0; i < std::min<std::size_t>(told.time_count, kMostTimes); ++i) {
    const BoardTime& row = told.times[i];
    const auto other = static_cast<std::size_t>(std::max(row.kernel, 1)) - 1;
    if (row.shape >= shapes || (row.kernel > 0 && other >= others.size())) continue;
    TimedCall call{row.shape,
                   "",
                   0,
                   static_cast<int>(row.samples),
                   row.median,
                   row.middle,
                   row.registers,
                   row.shared_bytes,
                   row.occupancy};
    if (row.kernel < 0) call.variant = text_in(row.variant);
    if (row.kernel > 0) {
      call.variant = others[other].variant;
      call.version = others[other].version;
    }
    times.calls.push_back(std::move(call));
  }
  return times;
}

}  // namespace warpscope::user_kernels
