// The trial process: loads one build of a kernel, calls it, and tells by the board what came of it.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
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

std::vector<OpShape> shapes_to_try(ops::Op op, std::uint64_t seed) {
  std::vector<OpShape> shapes = verify::shapes_of(op);
  const auto random = verify::random_shapes_of(op, kRandomShapes, seed, kMostFlops);
  shapes.insert(shapes.end(), random.begin(), random.end());
  std::erase_if(shapes, [&](const OpShape& shape) {
    std::int64_t numbers = 0;
    for (const ops::Operand& each : ops::contract(op).operands) numbers += each.elements(shape);
    return numbers > kMostNumbers || ops::contract(op).flops(shape) > kMostFlops;
  });
  return shapes;
}

/// "output(0, 1, 2, 3)"
std::string element_text(const Source& source, const verify::WorstElement& worst, const OpShape& shape) {
  std::string text;
  for (const OperandLayout& each : layouts_of(source.op)) {
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

/// `variant` with the board told when its code runs.
ops::Variant watched(ops::Variant variant, Board& board) {
  variant.launch = [inner = std::move(variant.launch), &board](const ops::OpCall& call) {
    std::atomic_ref(board.launches).fetch_add(1);
    set_stage(board, Stage::calling);
    inner(call);
    call.stream->synchronize();
    set_stage(board, Stage::between);
  };
  return variant;
}

/// All calls of `variant`; why one of them is wrong, or "".
std::string try_calls(const Source& source, const ops::Variant& variant, const ops::Context& context,
                      std::uint64_t seed, Board& board) {
  verify::Check all;
  for (const OpShape& shape : shapes_to_try(source.op, seed)) {
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
  const ops::Variant variant = watched(variant_of(source, load_code(code, source), hooks), board);
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

Board* inherited_board() {
  void* const memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, kTrialDescriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<Board*>(memory);
}

}  // namespace

void run_trial(int argc, char** argv) {
  Board* const board = argc == kArguments ? inherited_board() : nullptr;
  if (board == nullptr) ::_exit(2);
  end_by_signals();
  try {
    Source source;
    source.file = argv[3];
    source.op = ops::parse_op(argv[4]);
    source.variant = variant_name_of(source.file.string());
    source.language = language_of(source.file);
    const auto seed = files::number_in<std::uint64_t>(argv[6]).value_or(1);
    const std::string wrong =
        try_code(source, argv[2], argv[5], seed, std::string_view(argv[7]) == "checked", *board);
    put_text(board->sentence, wrong);
    set_stage(*board, wrong.empty() ? Stage::proved : Stage::failed);
  } catch (const std::exception& error) {
    const std::string_view what = error.what();
    const std::string own = fmt::format("{} {} ", argv[4], variant_name_of(argv[3]));
    put_text(board->sentence, what.starts_with(own) ? std::string(what.substr(own.size()))
                                                    : fmt::format("cannot be run: {}", what));
    set_stage(*board, Stage::failed);
  }
  ::_exit(0);  // what the kernel has registered for the end does not run
}

}  // namespace warpscope::user_kernels
