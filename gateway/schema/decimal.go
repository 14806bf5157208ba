package schema

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/big"
	"strconv"
)

// A decimal is the exact value of a JSON number: ±0.digits × 10^exp. It is never
// expanded, so 1e1000000 costs as little as 1, and a number of a megabyte no
// more than reading it.
type decimal struct {
	neg    bool
	digits []byte // from the first to the last digit that is not 0, a point among them or not; empty for zero
	n      int    // how many digits that is
	exp    int64  // MinInt64 or MaxInt64 when the exponent is in far
	far    []byte // the digits of an exponent of more than nearDigits
}

// nearDigits is how many digits of an exponent always fit an int64 with room
// for the shift of the point.
const nearDigits = 18

// parseDecimal returns the value of raw, a JSON number (RFC 8259 section 6).
func parseDecimal(raw []byte) decimal {
	var d decimal
	if raw[0] == '-' {
		d.neg = true
		raw = raw[1:]
	}
	mantissa, exponent := raw, []byte(nil)
	point, first, last := -1, -1, -1
scan:
	for i, c := range raw {
		switch c {
		case '.':
			point = i
		case 'e', 'E':
			mantissa, exponent = raw[:i], raw[i+1:]
			break scan
		case '0':
		default:
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return decimal{} // -0 is 0
	}
	if point < 0 {
		point = len(mantissa)
	}
	d.digits = mantissa[first : last+1]
	d.n = len(d.digits)
	shift := point - first
	if shift < 0 {
		shift++ // the point itself is no digit
	} else if point < last {
		d.n--
	}
	d.setExponent(exponent, int64(shift))
	return d
}

// setExponent sets exp to the number that spelled holds plus shift.
func (d *decimal) setExponent(spelled []byte, shift int64) {
	neg := false
	if len(spelled) > 0 && (spelled[0] == '-' || spelled[0] == '+') {
		neg = spelled[0] == '-'
		spelled = spelled[1:]
	}
	spelled = bytes.TrimLeft(spelled, "0")
	if len(spelled) <= nearDigits {
		d.exp = toInt(spelled)
		if neg {
			d.exp = -d.exp
		}
		d.exp += shift
		if size := max(d.exp, -d.exp); size >= 1_000_000_000_000_000_000 {
			d.setFar(strconv.AppendInt(nil, size, 10), d.exp < 0)
		}
		return
	}
	if neg {
		shift = -shift
	}
	// The shift is far smaller than the exponent: its sign stays.
	sum := append([]byte{'0'}, spelled...)
	for i := len(sum) - 1; shift != 0; i-- {
		shift += int64(sum[i] - '0')
		digit := (shift%10 + 10) % 10
		sum[i] = '0' + byte(digit)
		shift = (shift - digit) / 10
	}
	sum = bytes.TrimLeft(sum, "0")
	if len(sum) > nearDigits {
		d.setFar(sum, neg)
		return
	}
	d.exp = toInt(sum)
	if neg {
		d.exp = -d.exp
	}
}

func (d *decimal) setFar(digits []byte, neg bool) {
	d.far, d.exp = digits, math.MaxInt64
	if neg {
		d.exp = math.MinInt64
	}
}

// toInt returns the value of at most nearDigits digits.
func toInt(digits []byte) int64 {
	var v int64
	for _, c := range digits {
		v = v*10 + int64(c-'0')
	}
	return v
}

// isInteger reports whether the value has no fraction: 1.0 and 1e2 have none
// (JSON Schema Core section 4.2.3).
func (d decimal) isInteger() bool { return d.exp >= int64(d.n) || d.n == 0 }

// compare orders d and e as numbers.
func (d decimal) compare(e decimal) int {
	if s := cmp.Compare(d.sign(), e.sign()); s != 0 || d.n == 0 {
		return s
	}
	if d.neg {
		return e.compareMagnitude(d)
	}
	return d.compareMagnitude(e)
}

func (d decimal) sign() int {
	switch {
	case d.n == 0:
		return 0
	case d.neg:
		return -1
	}
	return 1
}

func (d decimal) compareMagnitude(e decimal) int {
	if c := cmp.Compare(d.exp, e.exp); c != 0 {
		return c
	}
	if c := cmp.Or(cmp.Compare(len(d.far), len(e.far)), bytes.Compare(d.far, e.far)); c != 0 {
		if d.exp < 0 {
			return -c
		}
		return c
	}
	a, b := d.digits, e.digits
	for {
		a, b = bytes.TrimPrefix(a, point), bytes.TrimPrefix(b, point)
		if len(a) == 0 || len(b) == 0 {
			return cmp.Compare(len(a), len(b))
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
}

var point = []byte{'.'}

// appendCanonical appends the one spelling that all spellings of the value
// share.
func (d decimal) appendCanonical(dst []byte) []byte {
	if d.neg {
		dst = append(dst, '-')
	}
	for _, c := range d.digits {
		if c != '.' {
			dst = append(dst, c)
		}
	}
	dst = append(dst, 'e')
	if d.far == nil {
		return strconv.AppendInt(dst, d.exp, 10)
	}
	if d.exp < 0 {
		dst = append(dst, '-')
	}
	return append(dst, d.far...)
}

// A divisor is the value of multipleOf: mod × 10^exp.
type divisor struct {
	mod  *big.Int
	exp  int64
	text string
}

const (
	maxDivisorDigits   = 400
	maxDivisorExponent = 1_000_000
)

// newDivisor returns the divisor that raw spells. A schema's divisor is
// bounded, an instance's value is not.
func newDivisor(raw []byte) (*divisor, error) {
	d := parseDecimal(raw)
	if d.sign() <= 0 {
		return nil, errors.New("not greater than 0")
	}
	if d.n > maxDivisorDigits || d.exp > maxDivisorExponent || d.exp < -maxDivisorExponent {
		return nil, errors.New("too long")
	}
	mod, _ := new(big.Int).SetString(string(bytes.Replace(d.digits, point, nil, 1)), 10)
	return &divisor{mod: mod, exp: d.exp - int64(d.n), text: string(raw)}, nil
}

// chunkDigits is how many digits of the value are taken at a time.
const chunkDigits = 18

// divides reports whether d is a multiple of the divisor (JSON Schema
// Validation section 6.2.1), exactly and in time linear in the digits of d.
//
// With d = D × 10^p, the divisor M × 10^q and t = p-q, M must divide D × 10^t.
// For t < 0 that takes a D that ends in 0, which digits never do. For t beyond
// the bit length of M all factors 2 and 5 of M are accounted for, and a larger
// t changes nothing.
func (m *divisor) divides(d decimal) bool {
	if d.n == 0 {
		return true
	}
	exp := min(max(d.exp, -math.MaxInt64/2), math.MaxInt64/2)
	t := exp - int64(d.n) - m.exp
	if t < 0 {
		return false
	}
	rem, scale, part := new(big.Int), big.NewInt(1_000_000_000_000_000_000), new(big.Int)
	for digits := d.digits; len(digits) > 0; {
		var chunk int64
		taken := 0
		for len(digits) > 0 && taken < chunkDigits {
			if digits[0] != '.' {
				chunk = chunk*10 + int64(digits[0]-'0')
				taken++
			}
			digits = digits[1:]
		}
		if taken < chunkDigits {
			scale.SetInt64(int64(math.Pow10(taken)))
		}
		rem.Mul(rem, scale)
		rem.Add(rem, part.SetInt64(chunk))
		rem.Rem(rem, m.mod)
	}
	shift := big.NewInt(min(t, int64(m.mod.BitLen())))
	rem.Mul(rem, shift.Exp(big.NewInt(10), shift, nil))
	return rem.Rem(rem, m.mod).Sign() == 0
}
