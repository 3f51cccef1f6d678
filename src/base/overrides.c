/* SPDX-License-Identifier: Apache-2.0 */
#include "base/overrides.h"

sl_override_values sl_overrides;
