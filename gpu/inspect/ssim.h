#pragma once
// Structural similarity of two images.

#include "gpu/data/dataset.h"

namespace warpscope::inspect {

/// Side of the Gaussian window, in pixels, and its standard deviation.
inline constexpr int kSsimWindow = 11;
inline constexpr double kSsimSigma = 1.5;

/// The structural similarity index of x and y, (height, width, channels) values nominally in [0, 1]. For each
/// channel and each place where the whole window lies within the image, with the window's means m, variances
/// v and covariance c (weights that sum to 1, no correction for the sample size),
///
///   SSIM = (2 m_x m_y + C1) (2 c_xy + C2) / ((m_x^2 + m_y^2 + C1) (v_x + v_y + C2)),
///   C1 = (K1 L)^2, C2 = (K2 L)^2, K1 = 0.01, K2 = 0.03, L = 1,
///
/// then the mean over the places, then over the channels: 1 for equal images, lower the less alike they are.
/// NaN if the image is smaller than the window, or a value is not a number. Computed in double precision.
/// Source: Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, "Image quality assessment: from error
/// visibility to structural similarity", IEEE Transactions on Image Processing 13 (2004).
double ssim(const float* x, const float* y, const data::ImageShape& shape);

}  // namespace warpscope::inspect
