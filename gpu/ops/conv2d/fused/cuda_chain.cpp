#include <memory>

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/gradient_sum.h"

namespace warpscope::ops::conv2d::fused {
namespace {

OpShape before_upsampling(const OpShape& own) {
  OpShape shape = input_shape(own);
  shape.height /= 2;
  shape.width /= 2;
  return shape;
}

/// The shape of what came in: the input of the convolution, or of the upsampling before it.
OpShape shape_of_x(const OpShape& own) {
  return own.covered.has(Op::upsample2d_backward) ? before_upsampling(own) : input_shape(own);
}

std::vector<Link> forward_chain() {
  return {
      {.op = Op::upsample2d_forward,
       .renames = {{Name::output, Name::upsampled}},
       .optional = true,
       .without = Rename{Name::upsampled, Name::input},
       .shape = before_upsampling},
      {.op = Op::conv2d_forward, .renames = {{Name::input, Name::upsampled}, {Name::output, Name::product}}},
      optional_link(Op::bias_forward, Name::product, Name::biased, result_shape),
      optional_link(Op::relu_forward, Name::biased, Name::activated, result_shape),
      optional_link(Op::maxpool2d_forward, Name::activated, Name::output, pooling_shape)};
}

Link unpooling() {
  return {.op = Op::maxpool2d_backward,
          .renames = {{Name::input_gradient, Name::unpooled}},
          .optional = true,
          .without = Rename{Name::unpooled, Name::output_gradient},
          .shape = pooling_shape};
}

std::vector<Link> backward_weights_chain() {
  return {{.op = Op::upsample2d_forward,
           .renames = {{Name::output, Name::upsampled}},
           .optional = true,
           .without = Rename{Name::upsampled, Name::input},
           .shape = before_upsampling},
          unpooling(),
          {.op = Op::conv2d_backward_weights,
           .renames = {{Name::input, Name::upsampled}, {Name::output_gradient, Name::unpooled}}},
          {.op = Op::conv2d_backward_bias,
           .renames = {{Name::output_gradient, Name::unpooled}},
           .optional = true}};
}

std::vector<Link> backward_input_chain() {
  return {unpooling(),
          {.op = Op::conv2d_backward_input,
           .renames = {{Name::output_gradient, Name::unpooled},
                       {Name::input_gradient, Name::upsampled_gradient}}},
          {.op = Op::upsample2d_backward,
           .renames = {{Name::output_gradient, Name::upsampled_gradient},
                       {Name::input_gradient, Name::unmasked_gradient}},
           .optional = true,
           .without = Rename{Name::upsampled_gradient, Name::unmasked_gradient},
           .shape = before_upsampling},
          {.op = Op::relu_backward,
           .renames = {{Name::output, Name::input}, {Name::output_gradient, Name::unmasked_gradient}},
           .optional = true,
           .without = Rename{Name::unmasked_gradient, Name::input_gradient},
           .shape = shape_of_x}};
}

std::vector<Link> chain_of(Op op) {
  switch (op) {
    case Op::conv2d_forward:
      return forward_chain();
    case Op::conv2d_backward_weights:
      return backward_weights_chain();
    default:
      return backward_input_chain();
  }
}

std::int64_t packed_elements(std::int64_t plain) {
  return (plain + 3) / 4;
}

void pack(std::span<const std::byte> plain, std::span<std::byte> packed) {
  for (std::size_t i = 0; i < plain.size(); i += 4) {
    unsigned byte = 0;
    for (std::size_t j = i; j < i + 4 && j < plain.size(); ++j) {
      byte |= std::to_integer<unsigned>(plain[j]) << 2 * (j - i);
    }
    packed[i / 4] = static_cast<std::byte>(byte);
  }
}

void unpack(std::span<const std::byte> packed, std::span<std::byte> plain) {
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = packed[i / 4] >> 2 * (i % 4) & std::byte{3};
}

/// What stands for the bias, or takes its gradient, where the call has none: so the kernels always have one. Zeros at
/// first, and where they are read nobody writes.
class NoBias final : public Prepared {
 public:
  NoBias(core::Device& device, Name operand, int channels)
      : device_(device), operand_(operand), memory_(device.allocate(bytes_of(channels))) {
    const std::unique_ptr<core::Stream> stream = device.make_stream();
    stream->fill(memory_, 0, bytes_of(channels));
    stream->synchronize();
  }
  NoBias(const NoBias&) = delete;
  NoBias& operator=(const NoBias&) = delete;
  ~NoBias() override { device_.deallocate(memory_); }

  void stand_in(ByName<void*>& operands) const { operands[operand_] = memory_; }

 private:
  static std::size_t bytes_of(int channels) { return static_cast<std::size_t>(channels) * sizeof(float); }

  core::Device& device_;
  Name operand_;
  void* memory_;
};

template <Op kBiasOp, Name kName>
std::unique_ptr<Prepared> prepare(const OpCall& call) {
  if (call.shape.covered.has(kBiasOp)) return nullptr;
  return std::make_unique<NoBias>(*call.context->device, kName, call.shape.out_channels);
}

constexpr Format kTwoBitCodes{"2-bit codes", packed_elements, pack, unpack};

}  // namespace

ChainShape shape_of(const OpShape& s) {
  const OpSet& covered = s.covered;
  ChainShape shape{.batch = s.batch,
                   .height = s.height,
                   .width = s.width,
                   .in_channels = s.in_channels,
                   .out_channels = s.out_channels,
                   .kernel_height = s.kernel_height,
                   .kernel_width = s.kernel_width,
                   .upsample = covered.has(Op::upsample2d_forward) || covered.has(Op::upsample2d_backward),
                   .relu = covered.has(Op::relu_forward),
                   .pool = covered.has(Op::maxpool2d_forward) || covered.has(Op::maxpool2d_backward),
                   .masked = covered.has(Op::relu_backward),
                   .bias = covered.has(Op::bias_forward) || covered.has(Op::conv2d_backward_bias),
                   .valid = s.valid};
  if (shape.upsample) {
    shape.height /= 2;
    shape.width /= 2;
  }
  return shape;
}

std::vector<Link> summed_backward_input_chain() {
  std::vector<Link> chain = backward_input_chain();
  const auto upsampling = chain.end() - 2;
  upsampling->renames = {{Name::output_gradient, Name::upsampled_gradient},
                         {Name::input_gradient, Name::product}};
  upsampling->without = Rename{Name::upsampled_gradient, Name::product};
  chain.insert(chain.end() - 1,
               optional_link(Op::add_forward, Name::product, Name::unmasked_gradient, shape_of_x));
  return chain;
}

ChainCall call_of(const OpCall& call) {
  ChainCall mine{call.variant,  shape_of(call.shape), call.precision,
                 call.operands, call.workspace,       call.stream};
  if (const auto* none = dynamic_cast<const NoBias*>(call.prepared)) none->stand_in(mine.operands);
  return mine;
}

Variant chain_variant(Op op, const char* name, const char* summary) {
  Variant variant{.op = op,
                  .name = name,
                  .device = core::DeviceKind::cuda,
                  .chain = chain_of(op),
                  .formats = {{Name::argmax, &kTwoBitCodes}},
                  .summary = summary};
  if (op == Op::conv2d_forward) variant.prepare = prepare<Op::bias_forward, Name::bias>;
  if (op == Op::conv2d_backward_weights) {
    variant.prepare = prepare<Op::conv2d_backward_bias, Name::bias_gradient>;
  }
  return variant;
}

}  // namespace warpscope::ops::conv2d::fused
