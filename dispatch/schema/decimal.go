package schema

import (
	"cmp"
	"math"
)

// A decimal is the exact value of a JSON number: ±0.d₁d₂d₃… × 10^pow, where the digits d are those
// of whole and then of frac, and neither the first nor the last of them is 0. Zero has no digits.
// The digits are slices of the text, so parsing does not allocate, and 1e308 costs as much as 1.
type decimal struct {
	negative    bool
	whole, frac []byte
	pow         int64
}

// maxPow limits exponents so that sums of them do not overflow. A larger exponent counts as maxPow.
const maxPow = 1_000_000_000_000_000_000

// parseDecimal reads a JSON number.
func parseDecimal(text []byte) decimal {
	var d decimal
	if len(text) > 0 && text[0] == '-' {
		d.negative, text = true, text[1:]
	}
	end := digitsEnd(text, 0)
	d.whole = text[:end]
	if end < len(text) && text[end] == '.' {
		start := end + 1
		end = digitsEnd(text, start)
		d.frac = trimZeros(text[start:end])
	}
	var exponent int64
	if end < len(text) { // at the e
		exponent = parseExponent(text[end+1:])
	}
	d.whole = d.whole[leadingZeros(d.whole):]
	if d.pow = int64(len(d.whole)); d.pow == 0 {
		zeros := leadingZeros(d.frac)
		d.pow, d.frac = -int64(zeros), d.frac[zeros:]
	}
	if len(d.frac) == 0 {
		d.whole = trimZeros(d.whole)
	}
	if d.digits() == 0 {
		return decimal{}
	}
	d.pow += exponent
	return d
}

// digitsEnd returns the end of the digits that start at i.
func digitsEnd(text []byte, i int) int {
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	return i
}

func leadingZeros(digits []byte) int {
	n := 0
	for n < len(digits) && digits[n] == '0' {
		n++
	}
	return n
}

func trimZeros(digits []byte) []byte {
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return digits
}

func parseExponent(text []byte) int64 {
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative, text = text[0] == '-', text[1:]
	}
	var e int64
	for _, c := range text {
		if e = e*10 + int64(c-'0'); e > maxPow {
			e = maxPow
			break
		}
	}
	if negative {
		return -e
	}
	return e
}

func (d *decimal) digits() int { return len(d.whole) + len(d.frac) }

func (d *decimal) digit(i int) byte {
	if i < len(d.whole) {
		return d.whole[i]
	}
	return d.frac[i-len(d.whole)]
}

// isInteger reports whether the value is an integer, as that of 1.0 or 1e2 is.
func (d *decimal) isInteger() bool { return int64(d.digits()) <= d.pow || d.digits() == 0 }

// compare returns -1, 0 or +1.
func (d *decimal) compare(e *decimal) int {
	if sign := cmp.Compare(d.sign(), e.sign()); sign != 0 || d.digits() == 0 {
		return sign
	}
	order := cmp.Compare(d.pow, e.pow)
	shared := min(d.digits(), e.digits())
	for i := 0; i < shared && order == 0; i++ {
		order = cmp.Compare(d.digit(i), e.digit(i))
	}
	if order == 0 {
		order = cmp.Compare(d.digits(), e.digits())
	}
	return order * d.sign()
}

func (d *decimal) sign() int {
	switch {
	case d.digits() == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// natural returns the value if it is an integer from 0 to the largest int.
func (d *decimal) natural() (n int, ok bool) {
	if d.negative || !d.isInteger() || d.pow > 19 {
		return 0, false
	}
	for i := range d.pow {
		digit := 0
		if int(i) < d.digits() {
			digit = int(d.digit(int(i)) - '0')
		}
		if n > (math.MaxInt-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, true
}
