// The trial process: loads one build of a kernel, calls it, and tells by the board what came of it.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/text.h"
#include "gpu/profiling/bench.h"
#include "gpu/user_kernels/board.h"
#include "gpu/user_kernels/code.h"
#include "gpu/user_kernels/layout.h"
#include "gpu/user_kernels/trial.h"
#include "gpu/verify/op_check.h"
#include "gpu/verify/op_shapes.h"

namespace warpscope::user_kernels {
namespace {

using ops::OpShape;

// What a shape costs at most, so that all take a second: the reference runs on one core, a checked build is slow.
constexpr double kMostFlops = 3e6;
constexpr std::int64_t kMostNumbers = 300'000;
constexpr int kRandomShapes = 6;
constexpr int kArguments = 8;

// For each variant on each shape, and for all; the training beside it shares the machine.
constexpr int kTimedCalls = 15;
constexpr double kTimedSeconds = 0.1;
constexpr double kTimedInAll = 4;  // seconds of the processor that this thread has, which others may want too
constexpr std::chrono::seconds kLongestTimed(20);

void set_stage(Board& board, Stage stage) {
  std::atomic_ref(board.stage).store(static_cast<std::uint32_t>(stage));
}

template <std::size_t size>
void put_text(std::array<char, size>& characters, const std::string& text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(characters.data(), text.data(), length);
  characters[length] = '\0';
}

/// A checked access is outside: nothing of the kernel may run on.
void stop() {
  ::_exit(kStoppedCode);
}

/// Sanitizers of this program have handlers, which would tell something else than what ended it.
void end_by_signals() {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(number, SIG_DFL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

bool costs_too_much(const ops::Variant& form, const OpShape& shape) {
  std::int64_t numbers = 0;
  for (const ops::CallOperand& each : ops::operands_of(form, shape)) numbers += each.elements;
  return numbers > kMostNumbers || ops::contract(form.op).flops(shape) > kMostFlops;
}

/// Calls of the task: on shapes that its op's contract offers, random ones, and `trained` ones with smaller batches.
std::vector<OpShape> shapes_to_try(const Task& task, std::uint64_t seed, std::span<const OpShape> trained) {
  const ops::Variant form = task.form();
  std::vector<OpShape> shapes = verify::shapes_of(task.op);
  const auto random = verify::random_shapes_of(task.op, kRandomShapes, seed, kMostFlops);
  shapes.insert(shapes.end(), random.begin(), random.end());
  for (OpShape shape : trained) {
    shape = task.call_of(shape);
    while (shape.batch > 1 && costs_too_much(form, shape)) shape.batch = shape.batch / 2;
    shapes.push_back(shape);
  }
  std::vector<OpShape> calls = verify::calls_of(form, std::move(shapes), {});
  std::erase_if(calls, [&](const OpShape& shape) { return costs_too_much(form, shape); });
  return calls;
}

std::span<const OpShape> shapes_on(const Board& board) {
  return {board.shapes.data(), std::min<std::size_t>(board.shape_count, kMostShapes)};
}

/// "output(0, 1, 2, 3)"
std::string element_text(const Source& source, const verify::WorstElement& worst, const OpShape& shape) {
  std::string text;
  for (const OperandLayout& each : layouts_of(source.task())) {
    if (each.operand.name != worst.operand) continue;
    const std::vector<std::int64_t> extents = extents_of(each, shape);
    std::int64_t left = worst.element;
    for (std::size_t i = extents.size(); i-- > 0;) {
      text = fmt::format("{}{}{}", left % extents[i], text.empty() ? "" : ", ", text);
      left /= extents[i];
    }
  }
  return fmt::format("{}({})", ops::to_string(*worst.operand), text);
}

/// What is wrong, behind the kernel's name.
std::string wrong_text(const Source& source, const verify::Check& check, const OpShape& shape) {
  const std::string on = ops::describe(source.op, shape);
  const std::string_view begin =
      check.later ? "is right at first, but where other numbers lie in the same memory it " : "";
  if (!check.worst.operand) {
    const std::size_t colon = check.failure.find(": ");
    return fmt::format("{}, on {}",
                       colon == std::string::npos ? check.failure : check.failure.substr(colon + 2), on);
  }
  const std::string where = element_text(source, check.worst, shape);
  if (check.worst.unwritten) return fmt::format("{}does not write {}, on {}", begin, where, on);
  const std::string is = std::isnan(check.worst.is) ? "NaN" : fmt::format("{:.7g}", check.worst.is);
  return fmt::format(
      "{}gives {} for {}, where {:.7g} is right: a relative error of {:.2g} in all, more than {:.2g}, on "
      "{}",
      begin, is, where, check.worst.right, check.worst_error, check.tolerance, on);
}

/// What only the file's name tells, of a kernel for `task`.
Source read_name(const std::string& task, const char* file) {
  Task told = task_of(task);
  Source source;
  source.file = file;
  source.op = told.op;
  source.chain = std::move(told.chain);
  source.variant = variant_name_of(file);
  source.language = language_of(source.file);
  return source;
}

/// Tells the board that the code runs while `body` does, and turns what a GPU has ended into a sentence about `call`.
template <class Body>
auto watch(const std::shared_ptr<const Code>& code, const ops::OpCall& call, Board& board, const Body& body) {
  std::atomic_ref(board.launches).fetch_add(1);
  set_stage(board, Stage::calling);
  try {
    auto result = body();
    set_stage(board, Stage::between);
    return result;
  } catch (const core::Error& error) {
    const std::string what = code->device_failure();
    const std::string own = fmt::format("{} {} ", ops::to_string(call.variant->op), call.variant->name);
    if (what.empty() || std::string_view(error.what()).starts_with(own)) throw;
    throw core::Error(fmt::format("{}{}, on {}", own, what, ops::describe(call.variant->op, call.shape)));
  }
}

/// `variant` with the board told when its code runs; launching it waits for its end.
ops::Variant watched(ops::Variant variant, const std::shared_ptr<const Code>& code, Board& board) {
  variant.prepare = [inner = std::move(variant.prepare), code, &board](const ops::OpCall& call) {
    return watch(code, call, board, [&] { return inner(call); });
  };
  variant.launch = [inner = std::move(variant.launch), code, &board](const ops::OpCall& call) {
    watch(code, call, board, [&] {
      inner(call);
      call.stream->synchronize();
      return true;
    });
  };
  return variant;
}

/// All calls of `variant`; why one of them is wrong, or "".
std::string try_calls(const Source& source, const ops::Variant& variant, const ops::Context& context,
                      std::uint64_t seed, Board& board) {
  verify::Check all;
  for (const OpShape& shape : shapes_to_try(source.task(), seed, shapes_on(board))) {
    put_text(board.shape, ops::describe(source.op, shape));
    const std::array cases{verify::make_case(variant, shape, core::Precision::fp32, seed),
                           verify::make_case(variant, shape, core::Precision::fp32, seed + 1)};
    const verify::Check check = verify::check_cases(variant, context, core::Precision::fp32, cases);
    if (!check.failure.empty()) return wrong_text(source, check, shape);
    all = verify::worse(all, check);
    board.calls += 1;
  }
  board.worst_error = all.worst_error;
  board.tolerance = all.tolerance;
  return "";
}

/// One build, from its file on. A GPU does not see the board: what its kernels report goes through memory that it sees.
std::string try_code(const Source& source, const std::string& code, const std::string& device,
                     std::uint64_t seed, bool checked, Board& board) {
  const ops::Context context(core::open_device(device));
  context.device->make_current();
  const bool gpu = context.device->kind() == core::DeviceKind::cuda;
  auto* const pinned =
      gpu ? static_cast<kernel::Report*>(context.device->allocate_host(sizeof(kernel::Report))) : nullptr;
  if (gpu) *pinned = {};
  Hooks hooks;
  if (checked) hooks = {gpu ? pinned : &board.report, stop};
  set_stage(board, Stage::loading);
  std::shared_ptr<const Code> loaded = load_code(code, source);
  const ops::Variant variant = watched(variant_of(source, loaded, hooks), loaded, board);
  loaded.reset();
  set_stage(board, Stage::between);
  try {
    std::string wrong = try_calls(source, variant, context, seed, board);
    set_stage(board, Stage::unloading);  // with `variant`, which runs what the kernel has for its end
    return wrong;
  } catch (...) {
    if (gpu) board.report = *pinned;
    throw;
  }
}

/// Kernels of users are what a person's program calls them only outside this process: names may be the same.
ops::Variant timed(const Source& source, const std::string& code, int number, Board& board) {
  const std::shared_ptr<const Code> loaded = load_code(code, source);
  ops::Variant variant = watched(variant_of(source, loaded), loaded, board);
  variant.name = fmt::format("{}{}", ops::kUsers, number);
  return variant;
}

/// What `variant` takes on each shape.
void time_variant(const ops::Variant& variant, int kernel, const std::shared_ptr<core::Device>& device,
                  const std::function<bool()>& go_on, Board& board) {
  const ops::Context context(device, std::make_shared<const ops::VariantTable>(1, variant));
  profiling::BenchOptions options;
  options.precisions = {core::Precision::fp32};
  options.samples = kTimedCalls;
  options.seconds = kTimedSeconds;
  const std::span<const OpShape> shapes = shapes_on(board);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    put_text(board.shape, ops::describe(variant.op, shapes[i]));
    const profiling::BenchCase what{variant.op, "", shapes[i]};
    for (const profiling::BenchRow& row :
         profiling::bench(context, {what}, {}, options, [&](int, int, const auto&) { return go_on(); })) {
      if (row.samples == 0 || row.sum || board.time_count == kMostTimes) continue;
      BoardTime& told = board.times[board.time_count];
      told = {static_cast<std::uint32_t>(i),
              static_cast<std::uint32_t>(row.samples),
              kernel,
              row.resources.registers,
              row.resources.shared_bytes,
              row.resources.occupancy,
              row.median,
              row.middle,
              {}};
      put_text(told.variant, row.variant);
      ++board.time_count;
    }
  }
}

/// Processor time of this thread, since it began.
double processor_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// The kernel first, then the other ones, whose files, code and tasks are `others` in turns, then those of this build,
/// the fastest first, as long as there is time.
void time_all(const Source& source, const std::string& code, std::span<char* const> others,
              const std::string& device, Board& board) {
  const std::shared_ptr<core::Device> on = core::open_device(device);
  on->make_current();
  const auto end = std::chrono::steady_clock::now() + kLongestTimed;
  const auto always = [] { return true; };
  const auto while_there_is_time = [&] {
    return std::chrono::steady_clock::now() < end && processor_seconds() < kTimedInAll;
  };
  set_stage(board, Stage::loading);
  time_variant(timed(source, code, 0, board), 0, on, always, board);
  for (std::size_t i = 0; i + 2 < others.size(); i += 3) {
    const Source other = read_name(others[i + 2], others[i]);
    const int number = static_cast<int>(i / 3) + 1;
    time_variant(timed(other, others[i + 1], number, board), number, on, while_there_is_time, board);
  }
  set_stage(board, Stage::between);
  const ops::Variants built_in = ops::built_in_variants();
  const auto variants = ops::variants_of(*built_in, source.op, on->kind());
  for (auto each = variants.rbegin(); each != variants.rend() && while_there_is_time(); ++each) {
    if (ops::unavailable_reason(**each, on->info(), core::Precision::fp32).empty())
      time_variant(**each, -1, on, while_there_is_time, board);
  }
}

Board* inherited_board() {
  void* const memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, kTrialDescriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<Board*>(memory);
}

}  // namespace

void run_trial(int argc, char** argv) {
  Board* const board = argc >= kArguments ? inherited_board() : nullptr;
  if (board == nullptr) ::_exit(2);
  end_by_signals();
  try {
    const Source source = read_name(argv[4], argv[3]);
    const auto seed = files::number_in<std::uint64_t>(argv[6]).value_or(1);
    const std::string_view word = argv[7];
    std::string wrong;
    if (word == kTimesWord) {
      time_all(source, argv[2], std::span(argv + kArguments, argv + argc), argv[5], *board);
    } else {
      wrong = try_code(source, argv[2], argv[5], seed, word == "checked", *board);
    }
    put_text(board->sentence, wrong);
    set_stage(*board, wrong.empty() ? Stage::proved : Stage::failed);
  } catch (const std::exception& error) {
    const std::string what = core::sentence_of(error, "");
    const Task task = task_of(argv[4]);
    const std::string own = fmt::format("{} {} ", ops::to_string(task.op), variant_name_of(argv[3]));
    put_text(board->sentence,
             what.starts_with(own) ? what.substr(own.size()) : fmt::format("cannot be run: {}", what));
    set_stage(*board, Stage::failed);
  }
  ::_exit(0);  // what the kernel has registered for the end does not run
}

}  // namespace warpscope::user_kernels
