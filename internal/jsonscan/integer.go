package jsonscan

import "strconv"

// Int returns the value of a JSON number that is an integer of so many bits, in any notation: 10,
// 10.0, 1e1 and -0 are integers (JSON Schema 2020-12 Validation, section 6.1.1). ok is false for
// any other text. The value is exact.
func Int(text []byte, bits int) (n int64, ok bool) {
	n, err := strconv.ParseInt(string(text), 10, bits)
	if err != nil {
		var room [maxIntDigits]byte
		if digits, integer := plainDigits(room[:0], text); integer {
			n, err = strconv.ParseInt(string(digits), 10, bits)
		}
	}
	return n, err == nil
}

// Uint is [Int] for an unsigned integer.
func Uint(text []byte, bits int) (n uint64, ok bool) {
	n, err := strconv.ParseUint(string(text), 10, bits)
	if err != nil {
		var room [maxIntDigits]byte
		if digits, integer := plainDigits(room[:0], text); integer {
			n, err = strconv.ParseUint(string(digits), 10, bits)
		}
	}
	return n, err == nil
}

// maxIntDigits is the maximum length of a 64-bit integer, sign included.
const maxIntDigits = 20

// plainDigits appends an integer without fraction and exponent. It fails for one that has more than
// 64 bits by far.
func plainDigits(dst, text []byte) (digits []byte, ok bool) {
	if len(text) == 0 || text[0] != '-' && !isDigit(text[0]) {
		return dst, false
	}
	if end, err := number(text, 0); err != nil || end != len(text) {
		return dst, false
	}
	d := ParseDecimal(text)
	if !d.IsInteger() || d.Pow > maxIntDigits {
		return dst, false
	}
	if d.Digits() == 0 {
		return append(dst, '0'), true
	}
	if d.Negative {
		dst = append(dst, '-')
	}
	for i := range int(d.Pow) {
		digit := byte('0')
		if i < d.Digits() {
			digit = d.Digit(i)
		}
		dst = append(dst, digit)
	}
	return dst, true
}
