package sim

import "time"

// The modes of the rows whose breakers share leases: as U otherwise.
const (
	ModeLease     = "U-lease"       // a store in order
	ModeLeaseDown = "U-lease-down"  // one that fails always
	ModeLeaseSlow = "U-lease-slow"  // one that answers after the breakers have stopped waiting
	ModeLeaseBad  = "U-lease-flaky" // one that fails three times in ten
)

// ofTwin bounds a figure by that of breakers which ask nobody.
func ofTwin(metric string, share, plus float64) Target {
	return Target{Metric: metric, OfTwin: share, Plus: plus}
}

// leased are the fleets once more, with a lease. The first row is theirs
// without one, over outages of several lengths: where in a second an outage is
// noticed must not decide what is compared.
func leased(mode string) []Row {
	spreadFleet := func(d time.Duration) *Scenario { return fleet("10-dead", dead("", mode, 200, d)) }
	alone := spread(spreadFleet, oraclePlus("t95_s", 3))
	alone.OursOnly = true
	rows := []Row{alone}
	add := func(r Row, mode string, store *LeaseStore, targets ...Target) {
		r.Twin, r.Mode, r.OursOnly, r.Targets = r.ID(), mode, true, targets
		variants := make([]*Scenario, len(r.Variants))
		for i, s := range r.Variants {
			c := *s
			c.Mode, c.Lease = mode, store
			variants[i] = &c
		}
		r.Title, r.Variants = r.Title+", "+store.String(), variants
		rows = append(rows, r)
	}
	down, slow, flaky := usualStore(), usualStore(), usualStore()
	down.Down = Span{0, time.Hour}
	slow.Latency = 100 * time.Millisecond
	flaky.Errors = 0.3

	few := ofTwin("failed_probes", 0.2, 0)
	add(alone, ModeLease, usualStore(), ofTwin("t95_s", 1, 0), few, ofTwin("failed", 0.6, 0))
	add(alone, ModeLeaseBad, flaky, ofTwin("t95_s", 1, 0.5), ofTwin("failed_probes", 1, 0))
	for _, store := range []*LeaseStore{down, slow} {
		mode, herd := ModeLeaseDown, 1.1
		if store == slow { // it answers nobody in time, and still carries the news of who has recovered alone
			mode, herd = ModeLeaseSlow, 1.25
		}
		add(alone, mode, store, ofTwin("t95_s", 1, 0.5), ofTwin("failed_probes", 1.1, 0), ofTwin("herd", herd, 0))
	}
	long := row(fleet("10-dead60s", dead("", mode, 200, 60*sec)))
	surge := row(fleet("10-surge", shallow(mode)))
	collapsed := row(fleet("10-collapse", collapse(mode)))
	add(long, ModeLease, usualStore(), ofTwin("t95_s", 1, 2), few)
	add(surge, ModeLease, usualStore(), ofTwin("t95_s", 1, 2), ofTwin("failed", 1, 0))
	add(collapsed, ModeLease, usualStore(), ofTwin("t95_s", 1, 0), ofTwin("failed", 1, 20))
	add(collapsed, ModeLeaseBad, flaky, ofTwin("t95_s", 1, 0))
	add(collapsed, ModeLeaseDown, down, oraclePlus("t95_s", 25), ofTwin("failed", 1.3, 0))
	return rows
}
