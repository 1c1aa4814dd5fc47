package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// A seed keys every draw of one run. A draw depends on the seed, on what it is
// for and on the call it is for, never on how many draws came before it: two
// policies that treat a call differently still see the same next arrival, the
// same retry delays and the same service times.
type seed uint64

// What a draw is for.
const (
	forArrival uint64 = iota + 1
	forThink
	forRetry
	forService
	forError
	forCancel
	forBreaker
	forPolicy
	forShuffle
	forLease
)

// draw is the stream of one purpose: for the a-th call its b-th attempt, say.
func (s seed) draw(purpose, a, b uint64) draw {
	k := mix(uint64(s) + purpose*0x9e3779b97f4a7c15)
	k = mix(k ^ a)
	return draw{pcg: *rand.NewPCG(k, mix(k^b))}
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014): keys that
// differ in one bit give unrelated streams.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// draw is a stream of random numbers.
type draw struct{ pcg rand.PCG }

// float returns a number in [0, 1) with 53 random bits.
func (d *draw) float() float64 { return float64(d.pcg.Uint64()>>11) / (1 << 53) }

// between returns a duration in [lo, hi), or lo where the two are equal.
func (d *draw) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(d.float()*float64(hi-lo))
}

// exponential returns a number with mean one.
func (d *draw) exponential() float64 { return -ln(1 - d.float()) }

// chance reports an event of probability p.
func (d *draw) chance(p float64) bool { return p > 0 && d.float() < p }

// ln is the natural logarithm of a positive number. The standard library's is
// assembly on some machines, and on others the compiler fuses its products
// with its sums, so that the last bit differs; here every product is rounded
// by an explicit conversion, and so every machine gets the same bits.
func ln(x float64) float64 {
	f, e := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f *= 2
		e--
	}
	// ln f = 2 artanh s, a series in s squared, which is below 0.03.
	s := (f - 1) / (f + 1)
	z := float64(s * s)
	sum := 0.0
	for k := 21; k >= 1; k -= 2 {
		sum = float64(sum*z) + 1/float64(k)
	}
	return float64(float64(e)*math.Ln2) + float64(2*s*sum)
}

// exp is the exponential function, for the same reason as [ln].
func exp(x float64) float64 {
	k := math.Floor(x/math.Ln2 + 0.5)
	r := x - float64(k*math.Ln2)
	sum := 1.0
	for n := 16; n >= 1; n-- {
		sum = 1 + float64(sum*(r/float64(n)))
	}
	return math.Ldexp(sum, int(k))
}
