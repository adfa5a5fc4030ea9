#include "gpu/ops/onednn_support.h"

#include <algorithm>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/ops/bfloat16.h"

namespace warpscope::ops::onednn {
namespace {

/// A primitive writes its code to memory that it takes without looking whether there is any.
constexpr std::int64_t kPrimitiveBytes = std::int64_t{32} << 20;

[[noreturn]] void fail(Op op, const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
  throw core::Error(fmt::format("{} onednn: oneDNN says '{}' (status {}); choose the variant 'loops' instead",
                                to_string(op), error.what(), static_cast<int>(error.status)));
}

}  // namespace

dnnl::memory Program::operand(Name name, const dnnl::memory::desc& layout, std::size_t offset) {
  dnnl::memory memory(layout, engine_, DNNL_MEMORY_NONE);
  views_.push_back({name, offset, memory});
  return memory;
}

dnnl::memory Program::scratch(const dnnl::memory::desc& layout) {
  core::require_process_memory(static_cast<std::int64_t>(layout.get_size()) + kPrimitiveBytes);
  return {layout, engine_};
}

dnnl::memory Program::add_reorder_to(const dnnl::memory::desc& to, const dnnl::memory& from) {
  if (to == from.get_desc()) return from;
  dnnl::memory copy = scratch(to);
  add_reorder(from, copy);
  return copy;
}

void Program::add_reorder(const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc description(engine_, from.get_desc(), engine_, to.get_desc(),
                                                  user_scratchpad());
  add<dnnl::reorder>(description, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Program::run(const OpCall& call) {
  for (View& view : views_) view.memory.set_data_handle(call.operand<std::byte>(view.operand) + view.offset);
  for (const Step& step : steps_) step.primitive.execute(stream_, step.arguments);
  stream_.wait();
}

std::unique_ptr<Prepared> make_program(Op op, const std::function<void(Program&)>& build) {
  try {
    auto program = std::make_unique<Program>();
    build(*program);
    return program;
  } catch (const dnnl::error& error) {
    fail(op, error);
  }
}

namespace {

void launch(const OpCall& call) {
  const Op op = call.variant->op;
  auto* program = dynamic_cast<Program*>(call.prepared);
  if (program == nullptr)
    throw std::logic_error(fmt::format("{} onednn was launched unprepared", to_string(op)));
  try {
    program->run(call);
  } catch (const dnnl::error& error) {
    fail(op, error);
  }
}

std::vector<core::Precision> precisions() {
  std::vector<core::Precision> list{core::Precision::fp32};
  // An instruction set's value has the bits of all those that it includes.
  const auto has = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  if ((has & needed) == needed) list.push_back(core::Precision::bf16);
  return list;
}

}  // namespace

Variant variant(Op op, std::unique_ptr<Prepared> (*prepare)(const OpCall&), const char* summary) {
  return {.op = op,
          .name = "onednn",
          .precisions = precisions(),
          .presets = {{"onednn"}},
          .summary = summary,
          .launch = launch,
          .prepare = prepare};
}

dnnl::memory::data_type storage(core::Precision precision) {
  switch (precision) {
    case core::Precision::fp32:
      return dnnl::memory::data_type::f32;
    case core::Precision::bf16:
      return dnnl::memory::data_type::bf16;
    default:
      throw std::logic_error("oneDNN variants run in fp32 and bf16");
  }
}

dnnl::memory::desc nhwc(std::int64_t batch, int height, int width, int channels,
                        dnnl::memory::data_type type) {
  return {{batch, channels, height, width}, type, dnnl::memory::format_tag::nhwc};
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::eltwise_forward::primitive_desc describe_elements(const Program& program, dnnl::algorithm algorithm,
                                                        const dnnl::memory::desc& layout) {
  constexpr auto kTraining = dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
  return describe<dnnl::eltwise_forward>(program, kTraining, algorithm, layout, layout, 0.0f, 0.0f);
#else
  return describe<dnnl::eltwise_forward>(program, kTraining, algorithm, layout, 0.0f, 0.0f);
#endif
}

dnnl::eltwise_backward::primitive_desc describe_elements_backward(const Program& program,
                                                                  dnnl::algorithm algorithm,
                                                                  const dnnl::memory::desc& layout) {
  const auto hint = describe_elements(program, algorithm, layout);
#if DNNL_VERSION_MAJOR >= 3
  return describe_backward<dnnl::eltwise_backward>(program, hint, algorithm, layout, layout, layout, 0.0f,
                                                   0.0f);
#else
  return describe_backward<dnnl::eltwise_backward>(program, hint, algorithm, layout, layout, 0.0f, 0.0f);
#endif
}

void add_row_sums(Program& program, std::int64_t rows, std::int64_t columns, core::Precision precision,
                  Name from, Name sums) {
  const auto matrix = [](std::int64_t height, std::int64_t width, dnnl::memory::data_type type) {
    return dnnl::memory::desc({height, width}, type, dnnl::memory::format_tag::ab);
  };
  const auto ones_layout = matrix(1, rows, storage(precision));
  const auto layout = matrix(rows, columns, storage(precision));
  const auto sums_layout = matrix(1, columns, dnnl::memory::data_type::f32);
  const auto ones = program.scratch(ones_layout);
  if (precision == core::Precision::bf16) {
    std::fill_n(static_cast<BFloat16*>(ones.get_data_handle()), rows, from_float<BFloat16>(1.0f));
  } else {
    std::fill_n(static_cast<float*>(ones.get_data_handle()), rows, 1.0f);
  }
  program.add<dnnl::matmul>(describe<dnnl::matmul>(program, ones_layout, layout, sums_layout),
                            {{DNNL_ARG_SRC, ones},
                             {DNNL_ARG_WEIGHTS, program.operand(from, layout)},
                             {DNNL_ARG_DST, program.operand(sums, sums_layout)}});
}

}  // namespace warpscope::ops::onednn
