package jsonscan

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
)

// Numbers are compared as math/big compares them, whatever their notation.
func TestDecimalCompare(t *testing.T) {
	var texts []string
	for _, text := range []string{"0", "1", "10", "100", "9", "99", "0.1", "0.10", "1.0", "1.01",
		"0.001", "12.5", "1e2", "1E+2", "1e-2", "1.5e3", "0e5",
		"9007199254740993", "9007199254740992", "18446744073709551616", "0.30000000000000004",
		"123456789012345678901234567890", "1e308", "1e-400"} {
		texts = append(texts, text, "-"+text)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		texts = append(texts,
			fmt.Sprintf("%d.%0*de%d", random.IntN(1000), 1+random.IntN(3), random.IntN(10),
				random.IntN(7)-3))
	}
	for _, a := range texts {
		for _, b := range texts {
			ratA, _ := new(big.Rat).SetString(a)
			ratB, _ := new(big.Rat).SetString(b)
			d, e := ParseDecimal([]byte(a)), ParseDecimal([]byte(b))
			assert.Equal(t, d.Compare(&e), ratA.Cmp(ratB), "%s and %s", a, b)
		}
		d := ParseDecimal([]byte(a))
		ratA, _ := new(big.Rat).SetString(a)
		assert.Equal(t, d.IsInteger(), ratA.IsInt(), a)
	}
	huge, larger := ParseDecimal([]byte("1e999999999999999999999")), ParseDecimal([]byte("1e5"))
	assert.Equal(t, huge.Compare(&larger), 1)
}
