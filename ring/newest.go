package ring

// Newest returns the number of the last bucket in which the window of e, live
// or asleep, counted an outcome, if bucket number is the current one. Where
// that is no longer known it returns the last one that it can have been. It
// reports false for a window that has never counted any.
func (r *Ring) Newest(e Epoch, number uint64) (uint64, bool) {
	if e.asleep() {
		// It fell asleep when the bucket after its whole length began.
		slept := r.slept.Load()
		return slept - r.buckets, slept >= r.buckets
	}
	b := r.at(r.tag(e), number)
	for k := range min(r.buckets, number+1) {
		if r.SumBucket(b).Calls() > 0 {
			return number - k, true
		}
		b = r.before(b)
	}
	return number - r.buckets, number >= r.buckets
}
