#pragma once
// A variant is one implementation of an op on one kind of device. Each folder of ops lists its own (variants() in
// <op>/<op>.cpp); a table of variants is a value, made of all of these and of what is added while the program runs.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/core/types.h"
#include "gpu/ops/op.h"
#include "gpu/ranks/share.h"

namespace warpscope::ops {

/// What a variant keeps between calls of one op instance: library primitives, chosen algorithms. Made by
/// Variant::prepare, used by one stream at a time.
class Prepared {
 public:
  virtual ~Prepared() = default;
};

struct Variant;

/// The variants that somebody can choose from: by op, then CPU before CUDA, then from the simplest to the fastest;
/// names are unique in op and device kind. A table never changes: whoever uses its variants holds it.
using VariantTable = std::vector<Variant>;
using Variants = std::shared_ptr<const VariantTable>;

/// Those of this build, of which there is one table.
Variants built_in_variants();

/// What the names of variants begin with that a person wrote: "user:my_conv". They run only where they are chosen.
inline constexpr std::string_view kUsers = "user:";
bool is_users(const Variant& variant);

/// `table` with `added` as the fastest of its op and device. Throws core::BadInput if it has no name, one that is taken
/// or one with other characters than a-z, 0-9 and _ (behind kUsers, if it begins so), or nothing to launch.
Variants with_variant(const VariantTable& table, Variant added);

/// The same where one of its name may be there, in whose place it comes. Plans, proofs and benches that were given
/// `table` go on with the one before, which is let go with the last of them.
Variants with_new_version(const VariantTable& table, Variant added);

/// The same without that one, if it is there.
Variants without_variant(const VariantTable& table, Op op, core::DeviceKind device, std::string_view name);

/// What the calls of a plan, a proof or a bench have in common.
struct Context {
  Context(std::shared_ptr<core::Device> on, Variants from = built_in_variants(), ranks::Share part = {})
      : device(std::move(on)), variants(std::move(from)), share(std::move(part)) {}

  std::shared_ptr<core::Device> device;
  Variants variants;   ///< that there are to choose from
  ranks::Share share;  ///< of each step
};

/// One call of an op, or of all the ops that a variant covers. Operands that may be written in place can be
/// the same pointer.
struct OpCall {
  const Variant* variant = nullptr;
  const Context* context = nullptr;
  OpShape shape;  ///< OpShape::covered names the ops that this call covers beside its own
  core::Precision precision = core::Precision::fp32;
  ByName<void*> operands = {};  ///< those of operands_of(variant, shape); nullptr for all other names
  /// Variant::workspace_bytes() bytes, 256-byte aligned; its contents are undefined.
  void* workspace = nullptr;
  Prepared* prepared = nullptr;
  core::Stream* stream = nullptr;
  /// A piece of a call before its last: shape.count and the operands of OpContract::in_pieces are those of the piece,
  /// what is not in pieces waits for the last, and other work shares the device.
  bool early = false;

  template <class T>
  T* operand(Name name) const {
    return static_cast<T*>(operands[name]);
  }
  bool covers(Op op) const { return shape.covered.has(op); }
};

/// One name for another: what a covered op calls `its` is `ours` in the call of the variant that covers it.
struct Rename {
  Name its;
  Name ours;
};

/// One op of the chain that a variant covers.
struct Link {
  Op op;
  std::vector<Rename> renames = {};  ///< operands that are not listed keep their names
  bool optional = false;
  std::optional<Rename> without = {};  ///< of an optional op that is not there: what its name stands for then
  OpSet needs = {};                    ///< of an optional op: others that must be covered as well
  OpSet excludes = {};  ///< of an optional op: others before it in the chain, none of which may be covered
  /// Its shape, from that of the call; nullptr: the same.
  OpShape (*shape)(const OpShape& call) = nullptr;
  /// For an op whose shape that of the call's own op does not tell: whether the chain is made for one of shape `its`,
  /// which `call` then notes (window_height, patch_channels). Where it says no, there is no such op for the chain.
  /// nullptr: a kernel or window must be the one that `shape` gives. The variant refuses what it does not compute.
  bool (*takes)(const OpShape& its, OpShape& call) = nullptr;
};

/// Another way to store an operand than the contract's, known only to the variants that say so.
struct Format {
  const char* name;  ///< "2-bit codes"
  /// How many of the contract's element type it takes, from how many the contract's operand has.
  std::int64_t (*elements)(std::int64_t plain);
  void (*pack)(std::span<const std::byte> plain, std::span<std::byte> packed);
  void (*unpack)(std::span<const std::byte> packed, std::span<std::byte> plain);
};

/// An operand that a variant reads or writes in a format of its own.
struct PrivateOperand {
  Name name;
  const Format* format;
};

/// A name for a way to run every op, as a tag on its variants.
struct PresetTag {
  std::string_view preset;      ///< Preset::id, plan/presets.h
  bool characteristic = false;  ///< without any such variant the preset would not be what its name says
};

/// One implementation of an op, or of a chain of ops around one: plain data and functions. What a function needs beside
/// its arguments, such as a kernel that was compiled while the program runs, it holds itself.
struct Variant {
  Op op{};
  std::string name = {};  ///< "implicit_gemm": unique within op and device kind
  core::DeviceKind device = core::DeviceKind::cpu;
  std::vector<core::Precision> precisions = {};  ///< {}: precisions_of()
  int minimum_compute_capability = 75;           ///< of a GPU; 90 for Hopper
  int minimum_beside_fp16 = 0;         ///< the same in other precisions than FP16, where that is more
  int maximum_compute_capability = 0;  ///< 90 for code of sm_90a only; 0: none
  bool deterministic = true;           ///< the same bits from the same input, every time
  /// Whether what it writes may lie in the memory of what it reads, where the contract allows it.
  bool in_place = true;
  /// Whether it keeps the tolerance where a mean is many times the deviation, or all values are the same; else proofs
  /// draw no such inputs.
  bool far_means = true;
  /// Plans may call an op that adds over ranks in pieces of no less than so many of `count`, each beside the nodes that
  /// make the others (plan/overlap.h); it takes no workspace. 0: in one call, when all is there.
  std::int64_t least_piece = 0;
  /// Made for shapes at which the others are slow: the best where it takes the shape, and where it refuses one, nobody
  /// has to be told. What runs where no shape is known is another one.
  bool special = false;
  /// Nor is it the best for a shape where another variant's call (no library's) would cover one of these ops; none: {}.
  std::function<OpSet(const OpShape& shape)> yields_to = {};
  bool library = false;  ///< a library's kernels: the default only where we have none
  /// The chain of ops that one call covers, in the order in which they follow each other; among them the
  /// variant's own op, which is never optional. Empty: only its own op. What one of them writes and another
  /// reads is not stored. Those before the own op are computed again inside the call, so several calls may
  /// cover the same one.
  std::vector<Link> chain = {};
  /// What ops of the chain write and others of it read, by its name in the call, and that is stored all the same, as
  /// the contract says: others may read it, as backward passes do.
  std::vector<Name> stored = {};
  /// The same, but only for others: where no other op reads it, the call has no such operand (nullptr) and writes it
  /// nowhere.
  std::vector<Name> stored_for_others = {};
  /// Outputs of covered ops that the call does not write, though no covered op reads them: the variant is chosen only
  /// where no other op reads them either.
  std::vector<Name> omitted = {};
  std::vector<PrivateOperand> formats = {};  ///< of operands that partners must read or write alike
  std::vector<PresetTag> presets = {};
  std::string summary = {};  ///< one sentence: what it adds over the variant before it
  int version = 0;           ///< of a person's kernel, which may change while it runs; 0: there is one only

  /// Enqueues the work on call.stream. Throws core::Error that names the kernel.
  std::function<void(const OpCall& call)> launch = {};

  /// Scratch memory of a call; {} means none.
  std::function<std::size_t(const OpShape& shape, core::Precision precision)> workspace_bytes = {};

  /// Why it does not take `shape`, in words, or "" if it does; {} means it takes every shape.
  std::function<std::string(const OpShape& shape)> refuses = {};

  /// Makes what the calls of one op instance share; {} means nothing. The call has no operands, workspace and stream
  /// yet. Must not be called while a stream captures.
  std::function<std::unique_ptr<Prepared>(const OpCall& call)> prepare = {};
};

/// A variant for CUDA; what `more` does not say is as for kernels that run on every GPU in all precisions.
Variant cuda_variant(Op op, const char* name, void (*launch)(const OpCall&), const char* summary,
                     Variant more = {});

/// The first rung of these, `naive`, which is without atomics as well.
Variant naive_variant(Op op, void (*launch)(const OpCall&), const char* summary);

/// One operand of a call of a variant.
struct CallOperand {
  Name name;
  Access access{};
  Role role{};
  std::int64_t elements = 0;             ///< in its format
  const Format* format = nullptr;        ///< nullptr: as the contract says
  std::optional<Name> in_place_of = {};  ///< the operand whose memory this one may share
};

/// One op that a call covers.
struct CoveredOp {
  const Link* link = nullptr;  ///< nullptr: the op by itself, of a variant without a chain
  Op op{};
  OpShape shape;
};

/// The ops that a call of `variant` with `shape` covers, in the order of its chain, its own among them.
std::vector<CoveredOp> covered_ops(const Variant& variant, const OpShape& shape);

/// The name in the call of what the covered op of `link` calls `its`; `link` may be nullptr.
Name call_name(const Variant& variant, const OpSet& covered, const Link* link, Name its);

/// The operands of a call of `variant` with `shape`: what comes from outside and what is there afterwards,
/// each once.
std::vector<CallOperand> operands_of(const Variant& variant, const OpShape& shape);

/// Every set of other ops that `variant` can cover beside its own: what is not optional, with each choice of
/// what is; the fewest first.
std::vector<OpSet> coverings(const Variant& variant);

/// All other ops that some call of `variant` covers; some may exclude each other (Link::excludes).
OpSet coverable_ops(const Variant& variant);

/// Whether `variant` runs only where some other op of its chain is there.
bool needs_others(const Variant& variant);

/// Bytes of one operand.
std::size_t bytes_of(const CallOperand& operand, core::Precision precision);

/// Fewest bytes a call moves through memory: each operand read once and written once, of gathers only what
/// they pick.
double minimum_bytes(const Variant& variant, const OpShape& shape, core::Precision precision);

/// Those that the variant says, else what trainings run in: FP32 and BF16 on a CPU, TF32 and FP16 too on a GPU.
std::vector<core::Precision> precisions_of(const Variant& variant);

/// Variants of `op` on `device`, in table order; empty if there are none.
std::vector<const Variant*> variants_of(const VariantTable& table, Op op, core::DeviceKind device);

/// The variant, or nullptr.
const Variant* find_variant(const VariantTable& table, Op op, core::DeviceKind device, std::string_view name);

/// Why `variant` cannot run here ("needs compute capability 9.0, this GPU has 8.6", "not in bf16; in fp32"),
/// or "". With `shape`, what the variant says to that one too.
std::string unavailable_reason(const Variant& variant, const core::DeviceInfo& device,
                               core::Precision precision, const OpShape* shape = nullptr);

/// Bytes of workspace `variant` needs for `shape`.
std::size_t workspace_bytes(const Variant& variant, const OpShape& shape, core::Precision precision);

}  // namespace warpscope::ops
