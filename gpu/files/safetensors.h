#pragma once
// The safetensors file format, as far as FP32 tensors go: 8 bytes with the length N of the header
// (little-endian), N bytes of JSON, then the tensors' bytes, row-major and little-endian. The header maps
// each name to {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]} and may hold "__metadata__", a
// map from text to text. Offsets count from the end of the header; the tensors fill what follows without gaps
// or overlaps.
// Source: the format's description in https://github.com/huggingface/safetensors (README, "Format").

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace warpscope::files {

/// A tensor of any rank (rank 0: one value), row-major.
struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// A seal lets a reader find any changed byte: the metadata hold "warpscope_sha256", the SHA-256 of the whole
/// file in 64 lower-case hexadecimal digits, computed as if these digits were zeros ("0").
enum class Seal : std::uint8_t { optional, required };

/// Reads all tensors, in the order in which they lie in the file, and the metadata (without the seal) if
/// asked for. Checks everything before it believes it, the seal too where there is one. Throws
/// core::BadInput, one sentence that names the file, if it is not there, not a whole and correct safetensors
/// file, lacks a seal that is required, or holds anything but F32.
std::vector<NamedTensor> read_safetensors(const std::filesystem::path& path,
                                          std::map<std::string, std::string>* metadata = nullptr,
                                          Seal wanted = Seal::optional);

/// Writes `path`, whole or not at all. Throws core::BadInput if a name occurs twice, is "__metadata__" or not
/// UTF-8, or a shape does not match its values; core::Error if the file cannot be written.
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// As write_safetensors(), with a seal. Also throws core::BadInput if a key of `metadata` is the seal's or
/// holds a quote.
void write_sealed_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                              const std::map<std::string, std::string>& metadata = {});

}  // namespace warpscope::files
