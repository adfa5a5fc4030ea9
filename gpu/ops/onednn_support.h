#pragma once
// What the oneDNN variants share: a prepared sequence of primitives and the one launch function that runs it,
// and the differences between oneDNN 2 (operation descriptors) and 3 (primitive descriptors made directly).
//
// Activations are described to oneDNN as the dense NHWC memory they are, so nothing is copied; where a
// primitive wants its weights in an order of its own, a reorder is one more primitive of the sequence.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::onednn {

/// A sequence of primitives over one set of memories, made once for an op instance. Memories of operands have
/// no data of their own until a call gives its pointers.
class Program final : public Prepared {
 public:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  /// The memory of operand `name` from byte `offset` on, laid out as `layout`. Each call gives a view of its
  /// own.
  dnnl::memory operand(Name name, const dnnl::memory::desc& layout, std::size_t offset = 0);
  /// Memory that the program owns, its contents undefined.
  dnnl::memory scratch(const dnnl::memory::desc& layout);

  /// Appends a primitive; its scratchpad is the program's.
  template <class Primitive>
  void add(const typename Primitive::primitive_desc& description, Arguments arguments) {
    arguments.emplace(DNNL_ARG_SCRATCHPAD, scratch(description.scratchpad_desc()));
    steps_.push_back({Primitive(description), std::move(arguments)});
  }
  /// Appends a copy of `from` in the layout `to`, unless it has that layout already; returns what to use.
  dnnl::memory add_reorder_to(const dnnl::memory::desc& to, const dnnl::memory& from);
  /// Appends the copy back: from a memory that a primitive wrote into the operand it stands for.
  void add_reorder(const dnnl::memory& from, const dnnl::memory& to);

  void run(const OpCall& call);
  const dnnl::engine& engine() const { return engine_; }

 private:
  struct Step {
    dnnl::primitive primitive;
    Arguments arguments;
  };

  struct View {
    Name operand;
    std::size_t offset;
    dnnl::memory memory;
  };

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Step> steps_;
  std::vector<View> views_;
};

/// Makes a Program by `build`, its errors turned into core::Error that names `op`.
std::unique_ptr<Prepared> make_program(Op op, const std::function<void(Program&)>& build);

/// The variant `onednn` of `op`: FP32, and BF16 where the CPU multiplies it (AVX512_BF16 or AMX; elsewhere oneDNN would
/// emulate it, slower than FP32). Its launch runs the Program that `prepare` makes on the caller's thread and oneDNN's.
Variant variant(Op op, std::unique_ptr<Prepared> (*prepare)(const OpCall&), const char* summary);

/// The type that activations and working weights have in memory.
dnnl::memory::data_type storage(core::Precision precision);

/// Dense NHWC: (batch, channels, height, width) in oneDNN's order of dimensions.
dnnl::memory::desc nhwc(std::int64_t batch, int height, int width, int channels,
                        dnnl::memory::data_type type);

/// Attributes of every primitive here: the scratchpad is passed in.
dnnl::primitive_attr user_scratchpad();

/// A primitive descriptor with these attributes from the arguments that both major versions share.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe_with(const dnnl::primitive_attr& attributes,
                                                 const Program& program, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(program.engine(), arguments..., attributes);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attributes,
                                            program.engine());
#endif
}

/// The same with the attributes of every primitive.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe(const Program& program, const Arguments&... arguments) {
  return describe_with<Primitive>(user_scratchpad(), program, arguments...);
}

/// The description of a backward primitive; `hint` is the descriptor of the forward one.
template <class Primitive, class Hint, class... Arguments>
typename Primitive::primitive_desc describe_backward(const Program& program, const Hint& hint,
                                                     const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(program.engine(), arguments..., hint, user_scratchpad());
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), user_scratchpad(),
                                            program.engine(), hint);
#endif
}

/// The elementwise function `algorithm` of a vector, and its gradient.
dnnl::eltwise_forward::primitive_desc describe_elements(const Program& program, dnnl::algorithm algorithm,
                                                        const dnnl::memory::desc& layout);
dnnl::eltwise_backward::primitive_desc describe_elements_backward(const Program& program,
                                                                  dnnl::algorithm algorithm,
                                                                  const dnnl::memory::desc& layout);

/// Appends `sums`, in FP32, of the rows of the operand `from`: a product with a row of ones.
void add_row_sums(Program& program, std::int64_t rows, std::int64_t columns, core::Precision precision,
                  Name from, Name sums);

}  // namespace warpscope::ops::onednn
