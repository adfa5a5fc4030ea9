#pragma once
// The ten classes of built-in scenes. Each function paints one random scene over the whole canvas; light over
// the scene and noise are added to all of them later (builtin.cpp).

#include <array>

#include "gpu/data/scene_canvas.h"

namespace warpscope::data {

void paint_discs(Canvas& canvas, Random& random);      ///< shaded balls with shadows
void paint_rings(Canvas& canvas, Random& random);      ///< a target, or rings that overlap
void paint_stripes(Canvas& canvas, Random& random);    ///< straight or wavy, at any angle
void paint_checkers(Canvas& canvas, Random& random);   ///< a turned board, or a floor seen at a slant
void paint_polygons(Canvas& canvas, Random& random);   ///< triangles to hexagons, some outlined
void paint_plasma(Canvas& canvas, Random& random);     ///< sums of waves as colours
void paint_blobs(Canvas& canvas, Random& random);      ///< drops that melt together
void paint_stars(Canvas& canvas, Random& random);      ///< a night sky with a nebula
void paint_bricks(Canvas& canvas, Random& random);     ///< a wall
void paint_landscape(Canvas& canvas, Random& random);  ///< mountains or water under a low sun

struct SceneClass {
  const char* name;
  void (*paint)(Canvas&, Random&);
};

inline constexpr std::array kSceneClasses{
    SceneClass{"discs", paint_discs},       SceneClass{"rings", paint_rings},
    SceneClass{"stripes", paint_stripes},   SceneClass{"checkers", paint_checkers},
    SceneClass{"polygons", paint_polygons}, SceneClass{"plasma", paint_plasma},
    SceneClass{"blobs", paint_blobs},       SceneClass{"stars", paint_stars},
    SceneClass{"bricks", paint_bricks},     SceneClass{"landscape", paint_landscape},
};

}  // namespace warpscope::data
