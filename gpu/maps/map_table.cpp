#include <array>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/maps/map.h"
#include "gpu/maps/stepped_map.h"

namespace warpscope::maps {

std::span<const MapKind> map_table() {
  static const std::array kTable{
      MapKind{"tsne", "t-SNE",
              "Keeps the neighbours of each row: all pairs repel each other, neighbours attract.", make_tsne},
      MapKind{"umap", "UMAP",
              "Lays out the graph of nearest neighbours: its edges attract, random pairs repel each other.",
              make_umap},
  };
  return kTable;
}

const MapKind& find_map(std::string_view name) {
  std::string names;
  for (const MapKind& kind : map_table()) {
    if (kind.name == name) return kind;
    if (!names.empty()) names.append(", ");
    names.append(kind.name);
  }
  throw core::BadInput(fmt::format("there is no map \"{}\"; there are {}", name, names));
}

}  // namespace warpscope::maps
