#pragma once
// The safetensors file format: 8 bytes with the length N of the header (little-endian), N bytes of JSON, then the
// tensors' bytes, row-major and little-endian. The header maps each name to {"dtype": "F32", "shape": [..],
// "data_offsets": [begin, end]} and may hold "__metadata__", a map from text to text. Offsets count from the end of the
// header; the tensors fill what follows without gaps or overlaps. F32 is written; F32, F16, BF16 and F64 are read, as
// floats.
// Source: the format's description in https://github.com/huggingface/safetensors (README, "Format").

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"

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

/// What a file's header says of a tensor, of any dtype.
struct TensorEntry {
  std::string name;
  std::string dtype;  ///< "F32", "BF16", "I64", ...
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< of its bytes, from the end of the header
  std::uint64_t end = 0;

  /// Its numbers can be read.
  bool readable() const;
};

/// An open file. Its header is known, the numbers are read when they are asked for.
class SafetensorsFile {
 public:
  /// Checks everything before it believes it, the seal too where there is one. Throws core::BadInput, one sentence that
  /// names the file, if it is not there, not a whole and correct safetensors file (then with what it is instead, where
  /// its first bytes tell), or lacks a seal that is required.
  explicit SafetensorsFile(const std::filesystem::path& path, Seal wanted = Seal::optional);

  const std::filesystem::path& path() const { return file_.path(); }
  /// In the order in which they lie in the file.
  const std::vector<TensorEntry>& entries() const { return entries_; }
  /// Without the seal.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// One of entries(), as floats. Throws core::BadInput if its dtype cannot be read, or reading fails.
  std::vector<float> read(const TensorEntry& entry) const;

 private:
  InputFile file_;
  std::uint64_t data_start_ = 0;
  std::vector<TensorEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// The metadata of a file, of which nothing else is looked at. Throws core::BadInput if it has no such header.
std::map<std::string, std::string> metadata_of(const std::filesystem::path& path);

/// All tensors. Throws core::BadInput as SafetensorsFile::read().
std::vector<NamedTensor> read_tensors(const SafetensorsFile& file);

/// The same of a file, and its metadata if asked for. Throws core::BadInput as SafetensorsFile does.
std::vector<NamedTensor> read_safetensors(const std::filesystem::path& path,
                                          std::map<std::string, std::string>* metadata = nullptr,
                                          Seal wanted = Seal::optional);

/// Writes `path`, whole or not at all. Throws core::BadInput if a name occurs twice, is "__metadata__" or not
/// UTF-8, or a shape does not match its values; core::Error if the file cannot be written.
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// As write_safetensors(), with a seal, and as `writing` says. Also throws core::BadInput if a key of `metadata` is the
/// seal's or holds a quote.
void write_sealed_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                              const std::map<std::string, std::string>& metadata = {},
                              const Writing& writing = {});

}  // namespace warpscope::files
