/* SPDX-License-Identifier: Apache-2.0 */
/* The header of NumPy's array format, and its elements. */
#include "io/npy_array.h"

#include <math.h>
#include <string.h>

#include "base/value.h"

sley_status sl_npy_offset(const char *name, const uint8_t *bytes, size_t size, int64_t *offset) {
  if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
    return sl_fail(SLEY_ERR_INPUT, "%s: not a NumPy array: it does not start with \\x93NUMPY", name);
  int major = bytes[6], minor = bytes[7];
  if (major < 1 || major > 3 || minor != 0)
    return sl_fail(SLEY_ERR_INPUT, "%s: NumPy array format %d.%d is not known; 1.0 to 3.0 are", name, major,
                   minor);
  int64_t length = bytes[8] | bytes[9] << 8;
  if (major > 1) {
    if (size < SL_NPY_PREFIX)
      return sl_fail(SLEY_ERR_INPUT, "%s: the file ends inside the NumPy header", name);
    length |= (int64_t)bytes[10] << 16 | (int64_t)bytes[11] << 24;
  }
  if (length > SL_NPY_HEADER)
    return sl_fail(SLEY_ERR_INPUT, "%s: a NumPy header of %lld bytes is too long", name, (long long)length);
  *offset = length + (major > 1 ? 12 : 10);
  return SLEY_OK;
}

/* A cursor over the header, which is the literal of a Python dictionary. */
typedef struct literal {
  const char *name;
  const char *at, *end;
} literal;

static sley_status literal_fail(const literal *in, const char *wanted) {
  int shown = (int)(in->end - in->at < 20 ? in->end - in->at : 20);
  return sl_fail(SLEY_ERR_INPUT, "%s: the NumPy header is not valid: %s expected at '%.*s'", in->name, wanted,
                 shown, in->at);
}

static void skip_space(literal *in) {
  while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\t'))
    in->at++;
}

static bool take(literal *in, char wanted) {
  skip_space(in);
  if (in->at == in->end || *in->at != wanted)
    return false;
  in->at++;
  return true;
}

static bool take_word(literal *in, const char *word) {
  skip_space(in);
  size_t length = strlen(word);
  if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0)
    return false;
  in->at += length;
  return true;
}

/* Parses a quoted string without escapes; text receives its first characters, cut to fit. */
static bool take_string(literal *in, char *text, size_t room) {
  skip_space(in);
  if (in->at == in->end || (*in->at != '\'' && *in->at != '"'))
    return false;
  const char *from = in->at + 1, *to = memchr(from, *in->at, (size_t)(in->end - from));
  if (!to)
    return false;
  size_t length = (size_t)(to - from) < room - 1 ? (size_t)(to - from) : room - 1;
  memcpy(text, from, length);
  text[length] = 0;
  in->at = to + 1;
  return true;
}

/* Parses a whole number that is not negative, with Python 2's optional L. */
static bool take_size(literal *in, int64_t *out) {
  skip_space(in);
  const char *from = in->at;
  int64_t value = 0;
  for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++)
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *in->at - '0', &value))
      return false;
  if (in->at == from)
    return false;
  if (in->at < in->end && *in->at == 'L')
    in->at++;
  *out = value;
  return true;
}

static bool is_power_of_two(int64_t n) {
  return n > 0 && (n & (n - 1)) == 0;
}

static sley_status parse_type(literal *in, sl_npy_array *out) {
  char text[24];
  if (take(in, '['))
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s: an array of structures cannot be read; save one field of it",
                   in->name);
  if (!take_string(in, text, sizeof text))
    return literal_fail(in, "the element type");
  char order = text[0], kind = order ? text[1] : 0;
  literal digits = {in->name, text + 2, text + strlen(text)};
  bool known = (order == '<' || order == '>' || order == '|' || order == '=') && kind;
  if (known && kind == 'O')
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s: an array of Python objects (pickled) is not read; save numbers",
                   in->name);
  if (known && kind == 'c')
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s: complex values (%s) cannot be read; save the real part",
                   in->name, text);
  known = known && take_size(&digits, &out->bytes_each) && digits.at == digits.end;
  int64_t size = known ? out->bytes_each : 0;
  bool number = (kind == 'f' && is_power_of_two(size) && size >= 2 && size <= 8) ||
                ((kind == 'i' || kind == 'u') && is_power_of_two(size) && size <= 8) ||
                (kind == 'b' && size == 1);
  bool string = (kind == 'S' || kind == 'U') && size <= INT32_MAX;
  if (!known || (!number && !string))
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "%s: elements of type '%s' cannot be read; save them as float or integer", in->name, text);
  out->kind = kind;
  if (kind == 'U')
    out->bytes_each *= 4;
  const uint16_t one = 1;
  bool little = *(const uint8_t *)&one == 1;
  out->swapped = (order == '<' && !little) || (order == '>' && little);
  return SLEY_OK;
}

static sley_status parse_shape(literal *in, sl_npy_array *out) {
  if (!take(in, '('))
    return literal_fail(in, "the shape");
  while (!take(in, ')')) {
    if (out->dims == SL_NPY_DIMS)
      return sl_fail(SLEY_ERR_UNSUPPORTED, "%s: an array of more than %d dimensions", in->name, SL_NPY_DIMS);
    if (!take_size(in, &out->shape[out->dims]))
      return literal_fail(in, "a length");
    out->dims++;
    if (!take(in, ',')) {
      if (!take(in, ')'))
        return literal_fail(in, "')'");
      break;
    }
  }
  return SLEY_OK;
}

/* Sets count; checks that count and its bytes fit 64 bits. An array with a length of 0 has no elements,
 * whatever the other lengths are. */
static sley_status count_elements(const char *name, sl_npy_array *out) {
  out->count = 1;
  bool empty = false, overflow = false;
  for (int d = 0; d < out->dims; d++) {
    empty |= out->shape[d] == 0;
    overflow |= __builtin_mul_overflow(out->count, out->shape[d], &out->count);
  }
  if (empty)
    out->count = 0;
  int64_t bytes;
  if (!empty && (overflow || __builtin_mul_overflow(out->count, out->bytes_each, &bytes)))
    return sl_fail(SLEY_ERR_INPUT, "%s: the array's shape does not fit 64 bits", name);
  return SLEY_OK;
}

sley_status sl_npy_parse(const char *name, const uint8_t *bytes, size_t size, sl_npy_array *out) {
  *out = (sl_npy_array){0};
  SL_TRY(sl_npy_offset(name, bytes, size, &out->data_offset));
  if ((size_t)out->data_offset > size)
    return sl_fail(SLEY_ERR_INPUT, "%s: the file ends inside the NumPy header", name);
  int prefix = bytes[6] > 1 ? 12 : 10;
  literal in = {name, (const char *)bytes + prefix, (const char *)bytes + out->data_offset};
  bool type = false, order = false, shape = false;
  if (!take(&in, '{'))
    return literal_fail(&in, "'{'");
  while (!take(&in, '}')) {
    char key[24];
    if (!take_string(&in, key, sizeof key))
      return literal_fail(&in, "a key");
    if (!take(&in, ':'))
      return literal_fail(&in, "':'");
    if (strcmp(key, "descr") == 0 && !type) {
      SL_TRY(parse_type(&in, out));
      type = true;
    } else if (strcmp(key, "fortran_order") == 0 && !order) {
      out->fortran = take_word(&in, "True");
      if (!out->fortran && !take_word(&in, "False"))
        return literal_fail(&in, "True or False");
      order = true;
    } else if (strcmp(key, "shape") == 0 && !shape) {
      SL_TRY(parse_shape(&in, out));
      shape = true;
    } else {
      return sl_fail(SLEY_ERR_INPUT, "%s: the NumPy header has an odd key '%s'", name, key);
    }
    if (!take(&in, ',')) {
      if (!take(&in, '}'))
        return literal_fail(&in, "'}'");
      break;
    }
  }
  skip_space(&in);
  if (in.at != in.end)
    return literal_fail(&in, "the end of the header");
  if (!type || !order || !shape)
    return sl_fail(SLEY_ERR_INPUT, "%s: the NumPy header lacks %s", name,
                   !type ? "descr" : (!order ? "fortran_order" : "shape"));
  return count_elements(name, out);
}

bool sl_npy_is_whole(const sl_npy_array *array) {
  return array->kind == 'i' || array->kind == 'u' || array->kind == 'b';
}

bool sl_npy_is_number(const sl_npy_array *array) {
  return array->kind == 'f' || sl_npy_is_whole(array);
}

static uint64_t load_bits(const uint8_t *at, int64_t bytes, bool swapped) {
  uint16_t two;
  uint32_t four;
  uint64_t eight;
  switch (bytes) {
  case 1:
    return *at;
  case 2:
    memcpy(&two, at, sizeof two);
    return swapped ? __builtin_bswap16(two) : two;
  case 4:
    memcpy(&four, at, sizeof four);
    return swapped ? __builtin_bswap32(four) : four;
  default:
    memcpy(&eight, at, sizeof eight);
    return swapped ? __builtin_bswap64(eight) : eight;
  }
}

static int64_t sign_extend(uint64_t bits, int64_t bytes) {
  int unused = 64 - 8 * (int)bytes;
  return (int64_t)(bits << unused) >> unused;
}

static double load_value(const sl_npy_array *array, const uint8_t *at) {
  uint64_t bits = load_bits(at, array->bytes_each, array->swapped);
  switch (array->kind) {
  case 'f':
    if (array->bytes_each == 8) {
      double value;
      memcpy(&value, &bits, sizeof value);
      return value;
    }
    if (array->bytes_each == 4) {
      uint32_t low = (uint32_t)bits;
      float value;
      memcpy(&value, &low, sizeof value);
      return value;
    }
    return sl_f32_of_f16((uint16_t)bits);
  case 'i':
    return (double)sign_extend(bits, array->bytes_each);
  case 'u':
    return (double)bits;
  default:
    return bits != 0;
  }
}

/* Returns the magnitude of a whole number. */
static uint64_t whole_size(const sl_npy_array *array, const uint8_t *at) {
  uint64_t bits = load_bits(at, array->bytes_each, array->swapped);
  if (array->kind != 'i')
    return bits;
  int64_t value = sign_extend(bits, array->bytes_each);
  return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* Checks an element whose magnitude is large enough for an error. */
static sley_status check_element(const char *name, const sl_npy_array *array, const uint8_t *at, int64_t i,
                                 sley_dtype dtype, double value) {
  bool whole = sl_npy_is_whole(array);
  if (!isfinite(value))
    return SLEY_OK;
  if (whole && dtype == SLEY_F64 && whole_size(array, at) > (uint64_t)SL_MOST_WHOLE)
    return sl_fail(
        SLEY_ERR_INPUT,
        "%s: element %lld is an integer beyond 2^53, %s%llu, where f64 does not hold every whole number: "
        "convert the values first",
        name, (long long)i, value < 0 ? "-" : "", (unsigned long long)whole_size(array, at));
  if (fabs(value) >= sl_dtype_limit(dtype))
    return sl_fail(SLEY_ERR_INPUT, "%s: element %lld, %.9g, %s", name, (long long)i, value,
                   sl_dtype_beyond(dtype));
  return SLEY_OK;
}

sley_status sl_npy_values(const char *name, const sl_npy_array *array, const uint8_t *data, int64_t first,
                          int64_t count, sley_dtype dtype, void *out) {
  size_t bytes = sley_dtype_bytes(dtype);
  if (count == 0)
    return SLEY_OK;
  if (array->kind == 'f' && array->bytes_each == (int64_t)bytes && !array->swapped && dtype != SLEY_BF16) {
    memcpy(out, data, (size_t)count * bytes);
    return SLEY_OK;
  }
  bool wide = sl_npy_is_whole(array) && array->bytes_each == 8;
  double sure = dtype == SLEY_F64 && wide ? SL_MOST_WHOLE : sl_dtype_limit(dtype);
  for (int64_t i = 0; i < count; i++) {
    const uint8_t *at = data + i * array->bytes_each;
    double value = load_value(array, at);
    if (!(fabs(value) < sure))
      SL_TRY(check_element(name, array, at, first + i, dtype, value));
    if (dtype == SLEY_F32)
      ((float *)out)[i] = (float)value;
    else
      sl_value_set(out, dtype, i, value);
  }
  return SLEY_OK;
}

int64_t sl_npy_int(const sl_npy_array *array, const uint8_t *data, int64_t i) {
  uint64_t bits = load_bits(data + i * array->bytes_each, array->bytes_each, array->swapped);
  if (array->kind == 'i')
    return sign_extend(bits, array->bytes_each);
  return bits > INT64_MAX ? -1 : (int64_t)bits;
}
