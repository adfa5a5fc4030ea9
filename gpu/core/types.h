#pragma once
// Precisions that a person selects and the element types that follow from them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpscope::core {

/// Where code runs.
enum class DeviceKind : std::uint8_t { cpu, cuda };

/// The arithmetic of a plan. fp64 exists only for the reference; tf32 stores FP32 and multiplies in TF32;
/// fp16 and bf16 store activations and working weights in 16 bits and accumulate in FP32.
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp64 };

/// The type of one element in memory.
enum class ElementType : std::uint8_t { f32, f16, bf16, f64, u8, u32, bytes };

/// Bytes of one element (1 for `bytes`).
std::size_t size_of(ElementType type);

std::string_view to_string(DeviceKind kind);
std::string_view to_string(Precision precision);
std::string_view to_string(ElementType type);

/// The precisions a person can choose, in the order they are listed.
std::span<const Precision> selectable_precisions();
/// `chosen`, or all of these where nothing is.
std::vector<Precision> or_selectable(std::vector<Precision> chosen);
/// "fp32, tf32".
std::string names_of(std::span<const Precision> precisions);

/// Reads "fp32", "tf32", "fp16" or "bf16". Throws BadInput that lists the valid names.
Precision parse_precision(std::string_view text);

}  // namespace warpscope::core
