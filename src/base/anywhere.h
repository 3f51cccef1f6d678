/* SPDX-License-Identifier: Apache-2.0 */
/* A prefix for functions in headers that GPU kernels call, too. */
#ifndef SLEY_BASE_ANYWHERE_H
#define SLEY_BASE_ANYWHERE_H

#ifdef __CUDACC__
#define SL_ANYWHERE static inline __host__ __device__
#else
#define SL_ANYWHERE static inline
#endif

#endif
