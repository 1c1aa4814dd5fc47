package dropin

// Shrink makes a program that fails smaller: it leaves out steps and zeroes
// bytes for as long as it still fails.
func Shrink(program []byte, fails func([]byte) bool) []byte {
	best := append([]byte(nil), program...)
	for again := true; again; {
		again = false
		for size := max(stepLen, len(best)/2/stepLen*stepLen); size >= stepLen; size = size / 2 / stepLen * stepLen {
			for at := headerLen; at+size <= len(best); {
				shorter := append(append([]byte(nil), best[:at]...), best[at+size:]...)
				if fails(shorter) {
					best, again = shorter, true
				} else {
					at += size
				}
			}
		}
		for i := range best {
			if old := best[i]; old != 0 {
				best[i] = 0
				if fails(best) {
					again = true
				} else {
					best[i] = old
				}
			}
		}
	}
	return best
}
