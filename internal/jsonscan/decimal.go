package jsonscan

import "cmp"

// A Decimal is the exact value of a JSON number: ±0.d₁d₂d₃… × 10^Pow, where the digits d are those
// of Whole and then of Frac, and neither the first nor the last of them is 0. Zero has no digits.
// The digits are slices of the text, so parsing does not allocate, and 1e308 costs as much as 1.
type Decimal struct {
	Negative    bool
	Whole, Frac []byte
	Pow         int64
}

// maxPow limits exponents so that sums of them do not overflow. A larger exponent counts as maxPow.
const maxPow = 1_000_000_000_000_000_000

// ParseDecimal reads a JSON number, which must be valid.
func ParseDecimal(text []byte) Decimal {
	var d Decimal
	if len(text) > 0 && text[0] == '-' {
		d.Negative, text = true, text[1:]
	}
	end := digitsEnd(text, 0)
	d.Whole = text[:end]
	if end < len(text) && text[end] == '.' {
		start := end + 1
		end = digitsEnd(text, start)
		d.Frac = trimZeros(text[start:end])
	}
	var exponent int64
	if end < len(text) { // at the e
		exponent = parseExponent(text[end+1:])
	}
	d.Whole = d.Whole[leadingZeros(d.Whole):]
	if d.Pow = int64(len(d.Whole)); d.Pow == 0 {
		zeros := leadingZeros(d.Frac)
		d.Pow, d.Frac = -int64(zeros), d.Frac[zeros:]
	}
	if len(d.Frac) == 0 {
		d.Whole = trimZeros(d.Whole)
	}
	if d.Digits() == 0 {
		return Decimal{}
	}
	d.Pow += exponent
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

// Digits returns the number of digits.
func (d *Decimal) Digits() int { return len(d.Whole) + len(d.Frac) }

// Digit returns the digit with index i, in ASCII.
func (d *Decimal) Digit(i int) byte {
	if i < len(d.Whole) {
		return d.Whole[i]
	}
	return d.Frac[i-len(d.Whole)]
}

// IsInteger reports whether the value is an integer, as that of 1.0 or 1e2 is.
func (d *Decimal) IsInteger() bool { return int64(d.Digits()) <= d.Pow || d.Digits() == 0 }

// Compare returns -1, 0 or +1, as [cmp.Compare] does.
func (d *Decimal) Compare(e *Decimal) int {
	if sign := cmp.Compare(d.Sign(), e.Sign()); sign != 0 || d.Digits() == 0 {
		return sign
	}
	order := cmp.Compare(d.Pow, e.Pow)
	shared := min(d.Digits(), e.Digits())
	for i := 0; i < shared && order == 0; i++ {
		order = cmp.Compare(d.Digit(i), e.Digit(i))
	}
	if order == 0 {
		order = cmp.Compare(d.Digits(), e.Digits())
	}
	return order * d.Sign()
}

// Sign returns -1, 0 or +1.
func (d *Decimal) Sign() int {
	switch {
	case d.Digits() == 0:
		return 0
	case d.Negative:
		return -1
	}
	return 1
}
