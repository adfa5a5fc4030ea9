// warpscope kernel: kernels of one's own, from a file to start from to proof and time.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/table.h"
#include "app/user_kernels.h"
#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/streams.h"
#include "gpu/files/text.h"
#include "gpu/profiling/bench.h"
#include "gpu/user_kernels/templates.h"
#include "gpu/verify/op_shapes.h"

namespace warpscope::app {
namespace {

struct KernelCommand {
  std::string op;
  std::string file;
  std::vector<std::string> includes;
  std::string device = "auto";
  bool time = true;
};

int write_new(const KernelCommand& arguments) {
  files::answer_is_in_files();
  const user_kernels::Language language = user_kernels::language_of(arguments.file);
  const ops::Op op = user_kernels::parse_offered_op(arguments.op);
  const std::filesystem::path file = arguments.file;
  std::error_code error;
  if (std::filesystem::exists(file, error))
    throw core::BadInput(
        fmt::format("{} is there already; name another file", files::sayable(arguments.file)));
  check_folder_of("FILE", file);
  files::write_file_atomically(file, user_kernels::template_of(op, language, file.filename().string()));
  files::print(
      "{} is the simplest kernel of {}, right and slow; warpscope kernel check {} proves and times it\n",
      arguments.file, arguments.op, arguments.file);
  return 0;
}

/// The shape of the op's tests that costs the most, as far as every variant is done with it soon.
ops::OpShape shape_to_time(ops::Op op) {
  constexpr double kMostWork = 3e8;
  const auto work_of = [op](const ops::OpShape& shape) {
    double work = ops::contract(op).flops(shape);
    for (const ops::Operand& each : ops::contract(op).operands)
      work += static_cast<double>(each.elements(shape));
    return work;
  };
  std::vector<ops::OpShape> shapes = verify::shapes_of(op);
  std::erase_if(shapes, [&](const ops::OpShape& shape) { return work_of(shape) > kMostWork; });
  return *std::ranges::max_element(shapes, {}, work_of);
}

/// The kernel beside the other variants in FP32, the fastest first.
void print_comparison(const user_kernels::Kernel& kernel, const std::string& device) {
  const bool cpu = kernel.source.language == user_kernels::Language::cpp;
  const ops::Context context(core::open_device(cpu ? "cpu" : device),
                             ops::with_variant(*ops::built_in_variants(), user_kernels::loaded(kernel)));
  const profiling::BenchCase what{kernel.source.op, "", shape_to_time(kernel.source.op)};
  profiling::BenchOptions options;
  options.precisions = {core::Precision::fp32};
  const std::atomic<bool>& stop_asked = catch_interrupts();
  std::vector<profiling::BenchRow> rows = profiling::bench(
      context, {what}, {}, options, [&](int, int, const std::string&) { return !stop_asked.load(); });
  std::erase_if(rows, [](const profiling::BenchRow& row) { return row.rank == 0; });
  std::ranges::sort(rows, {}, &profiling::BenchRow::median);
  Table table({{"variant", Align::left}, {"us"}, {"p10"}, {"p90"}, {"times yours"}});
  const auto own = std::ranges::find(rows, kernel.source.variant, &profiling::BenchRow::variant);
  for (const profiling::BenchRow& row : rows) {
    table.add({row.variant, figure(row.median), figure(row.p10), figure(row.p90),
               own == rows.end() ? "-" : figure(row.median / own->median)});
  }
  files::print("time      fp32, {}\n", ops::describe(what.op, what.shape));
  files::put(table.text());
}

int check_kernel(const KernelCommand& arguments) {
  const user_kernels::Kernel kernel = tried_kernel(arguments.file, arguments.includes, arguments.device);
  const user_kernels::Compilation& compiled = kernel.compiled;
  if (!compiled.errors.empty()) {
    for (const user_kernels::Diagnostic& each : compiled.errors)
      files::put(toned(user_kernels::to_string(each), Tone::bad) + "\n");
    files::warn(user_kernels::refusal(kernel));
    return 1;
  }
  files::print("compiled  {:.0f} ms{}\n", compiled.milliseconds, compiled.cached ? ", kept from before" : "");
  if (!kernel.verdict.proved) {
    files::warn(kernel.verdict.sentence);
    return 1;
  }
  files::print("proved    {:.0f} ms: {}\n", kernel.verdict.milliseconds, kernel.verdict.sentence);
  if (arguments.time) print_comparison(kernel, arguments.device);
  return 0;
}

}  // namespace

Run kernel(CLI::App& app) {
  const auto a = std::make_shared<KernelCommand>();
  app.require_subcommand(1);
  CLI::App& make =
      *app.add_subcommand("new", "Write a file that compiles: the simplest kernel of an operation");
  std::vector<std::string_view> names;
  for (const ops::Op op : user_kernels::offered_ops()) names.push_back(ops::to_string(op));
  make.add_option("op", a->op, fmt::format("Operation: {}", fmt::join(names, ", ")))
      ->type_name("OP")
      ->required();
  make.add_option("file", a->file, "File to write, .cpp for the CPU, .cu for CUDA")
      ->type_name("FILE")
      ->required();
  CLI::App& check =
      *app.add_subcommand("check", "Compile a file, prove it in a process of its own, and time it");
  check.add_option("file", a->file, "File of the kernel")->type_name("FILE")->required();
  check.add_option("--include", a->includes, "Folders of headers that it includes")->type_name("DIR");
  check.add_option("--device", a->device, "auto or cuda:N: the GPU that a .cu is for")->capture_default_str();
  check.add_flag("!--no-time", a->time, "Do not time it");
  return [a, &make] { return make ? write_new(*a) : check_kernel(*a); };
}

}  // namespace warpscope::app
