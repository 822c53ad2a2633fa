package schema

import (
	"math/big"
	"math/bits"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A divisor is the value of multipleOf: unit × 10^exp, where unit is an integer that does not end
// in 0. Division is exact, and expands neither number: 1e308 costs as much as 1.
type divisor struct {
	small uint64   // the unit, if it has at most 18 digits, else 0
	large *big.Int // the unit otherwise
	exp   int64
}

const chunkDigits = 18 // decimal digits: a number of one more digit still fits in a uint64

func newDivisor(d jsonscan.Decimal) divisor {
	m := divisor{exp: d.Pow - int64(d.Digits())}
	if d.Digits() <= chunkDigits {
		for i := range d.Digits() {
			m.small = m.small*10 + uint64(d.Digit(i)-'0')
		}
		return m
	}
	m.large, _ = new(big.Int).SetString(string(d.Whole)+string(d.Frac), 10)
	return m
}

// divides reports whether d is a multiple of m.
func (m *divisor) divides(d jsonscan.Decimal) bool {
	if d.Digits() == 0 {
		return true
	}
	shift := d.Pow - int64(d.Digits()) - m.exp
	if shift < 0 {
		return false // 10 would have to divide the digits, of which the last is not 0
	}
	if m.large != nil {
		return m.dividesLarge(d, shift)
	}
	var rest uint64
	for i := range d.Digits() {
		rest = (rest*10 + uint64(d.Digit(i)-'0')) % m.small
	}
	// rest × 10^shift modulo the unit, by squaring
	for base := 10 % m.small; shift > 0 && rest != 0; shift >>= 1 {
		if shift&1 == 1 {
			rest = mulMod(rest, base, m.small)
		}
		base = mulMod(base, base, m.small)
	}
	return rest == 0
}

func mulMod(a, b, m uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return bits.Rem64(hi, lo, m)
}

func (m *divisor) dividesLarge(d jsonscan.Decimal, shift int64) bool {
	rest, part := new(big.Int), new(big.Int)
	for i := 0; i < d.Digits(); {
		scale, value := uint64(1), uint64(0)
		for n := 0; n < chunkDigits && i < d.Digits(); n++ {
			scale, value = scale*10, value*10+uint64(d.Digit(i)-'0')
			i++
		}
		rest.Mul(rest, part.SetUint64(scale))
		rest.Add(rest, part.SetUint64(value))
		rest.Mod(rest, m.large)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(shift), m.large)
	return rest.Mul(rest, power).Mod(rest, m.large).Sign() == 0
}
