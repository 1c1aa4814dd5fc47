/*
 * The breaker's word, its probes, their expiry and the recovery window, one
 * atomic operation of the code per step. Names are those of package
 * atomicbreaker: word.go, halfopen.go, transition.go, timer.go.
 *
 * In the model: closed, open, half-open; callers that acquire and settle by
 * success, failure or Cancel, late, twice or never; Trip and Reset; the timer,
 * its worker and its kicks (E3); the opening's deadline beside the word (E2);
 * evidence beside the word (E4); the instants of silence (E5); with BRAKE, the
 * change from closed to half-open.
 *
 * Smaller than the code: the window's field ends at MAXWINDOW; every counted
 * failure of a closed call trips; a success widens by one; the weights of the
 * tally are one, and NETFAILURES net failures cut. Instants are replaced by
 * what is due: time may pass at any step, in the order in which timers would
 * see it. Not in the model: modes, the classic rule, the rolling window,
 * announcements, samples, what is made of how well an outage has gone so far, and
 * 32 bits of generation.
 */

#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef CALLS
#define CALLS 2
#endif
#define MAXWINDOW   3
#define NETFAILURES 2

/* word.go */
#define phaseClosed   1
#define phaseOpen     2
#define phaseHalfOpen 3
#define pack(p, i, w, g) ((p) | ((i) << 2) | ((w) << 5) | ((g) << 8))
#define phase(w)      ((w) & 3)
#define inFlight(w)   (((w) >> 2) & 7)
#define window(w)     (((w) >> 5) & 7)
#define generation(w) ((w) >> 8)
#define to(w, p, first) pack(p, 0, first, generation(w) + 1)

/* recovery.go: evidence, tagged with its generation */
#define evidenceOf(v, g)   (((v) >> 8) == (g) -> (v) : ((g) << 8))
#define cutOf(e)   (((e) >> 5) & 7)
#define aliveOf(e) (((e) >> 4) & 1)
#define tallyOf(e) ((e) & 15)
#define packEvidence(g, c, a, t) (((g) << 8) | ((c) << 5) | ((a) << 4) | (t))

/* verdicts */
#define goOn   0
#define cut    1
#define reopen 2

/* the timer */
#define never    0
#define asSoon   1
#define atCool   2
#define atProbes 3

#ifdef HALFOPEN
int  word = pack(phaseHalfOpen, 0, 1, 0);
#else
int  word = pack(phaseClosed, 0, 0, 0);
#endif
int  evidence;
byte fullMark;                /* markOf: the generation + 1 */
byte waitOf;              /* the generation whose deadline is written */
bool waitOver;            /* and whether it has passed */
bool placeDue, timeoutDue, quietDue;   /* silence and the quiet tick */

#ifdef BRAKE
bool braked;              /* once is enough */
byte timer = asSoon;
#else
byte timer = never;
#endif
bool kicked;              /* kicks has changed since the worker read it */
byte timerOf;             /* the generation that the timer was set for */
bool fired;
byte probesFired;         /* how often time has passed in half-open */

/* ghosts: what the checks know and the breaker does not */
byte unsettled;           /* tickets handed out and in no counter yet */
bool hung;                /* one that nobody will settle */
byte live;                /* probes of this generation whose place is not given back */
bool succeeded, raised;   /* in this generation */
bool working;             /* the worker is at it */
bool pubOver, ownOver;    /* the deadline last written, and that of this opening, has passed */
bool aliveGhost;          /* a success of this generation since its last cut */

/* A ticket is local to its caller. The first caller's may be seen by another. */
#ifdef TWICE
byte sharedGen; bool sharedProbe, sharedOut, sharedSettled;
#define share(id, yes) if :: id == 0 -> sharedGen = gen; sharedProbe = probe; sharedOut = yes; sharedSettled = false :: else fi
#define first(id, won) if :: id == 0 -> won = !sharedSettled; sharedSettled = true :: else -> won = true fi
#else
#define share(id, yes) skip
#define first(id, won) won = true
#endif

/* Who swaps the word checks it in the same step. */
inline changed(w) {
	live = 0; succeeded = false; raised = false; aliveGhost = false; probesFired = 0;
	placeDue = false; timeoutDue = false; quietDue = false;
	assert(generation(word) == generation(w) + 1);
	assert(generation(word) < 64)
}

inline check() {
	assert(phase(word) != phaseHalfOpen || inFlight(word) == live);
	assert(phase(word) == phaseHalfOpen || inFlight(word) == 0);
	assert(phase(word) != phaseHalfOpen || window(word) >= 1);
	assert(phase(word) != phaseHalfOpen || succeeded || raised || window(word) == 1)
}

inline kick() {
	kicked = true;
	atomic { timer = asSoon; timerOf = 0 }
}

/* trip opens the breaker if gen is still its generation. */
inline trip(gen, timedOut) {
	done = false;
	do
	:: done -> break
	:: else ->
		seen = waitOf;
		w = word;
		if
		:: generation(w) != gen || phase(w) == phaseOpen -> done = true
		:: timedOut && !(phase(w) == phaseHalfOpen && inFlight(w) > 0 && timeoutDue) -> done = true
		:: else ->
			/* publishOpening */
			atomic {
				if
				:: waitOf == seen -> waitOf = generation(w) + 1; waitOver = false; pubOver = false; ok = true
				:: else -> ok = false
				fi
			}
			if
			:: ok ->
				atomic {
					if
					:: word == w ->
						word = to(w, phaseOpen, 0); changed(w); check(); done = true;
						ownOver = pubOver
					:: else -> ok = false
					fi
				}
				if :: done -> kick() :: else fi
			:: else
			fi
		fi
	od;
	atomic { seen = 0; w = 0; done = false }
}

inline giveUp() {
	w = word;
	if
	:: phase(w) == phaseHalfOpen && inFlight(w) > 0 && timeoutDue -> g = generation(w); trip(g, true); g = 0
	:: else -> w = 0
	fi
}

proctype caller(byte id) {
	int w, next, e, e2;
	byte n, seen, g, gen, ticketCut, others, does;
	bool probe, ok, done, failed;
	do
	:: n == CALLS -> break
	:: n < CALLS ->
		n++;
		/* Acquire */
		ok = false;
		w = word;
		do
		:: phase(w) == phaseClosed ->
			atomic {
				gen = generation(w); probe = false; unsettled++; share(id, true)
			}
			ok = true; break
		:: phase(w) == phaseOpen -> break
		:: phase(w) == phaseHalfOpen && !(inFlight(w) < window(w)) -> fullMark = generation(w) + 1; break
		:: phase(w) == phaseHalfOpen && inFlight(w) < window(w) ->
			if
			:: inFlight(w) == 0 -> atomic { placeDue = false; timeoutDue = false; probesFired = 0 } /* heard */
			:: else
			fi;
			ticketCut = cutOf(evidenceOf(evidence, generation(w)));
			atomic {
				if
				:: word == w ->
					assert(inFlight(w) < window(w));
					word = w + (1 << 2); live++; probesFired = 0; check(); ok = true;
					gen = generation(w); probe = true; others = inFlight(w); unsettled++; share(id, true)
				:: else -> ok = false; w = word
				fi
			}
			if
			:: ok ->
				next = w + (1 << 2);
				if :: inFlight(next) >= window(next) && (ticketCut > 0 || aliveOf(evidenceOf(evidence, generation(w)))) ->
					fullMark = generation(w) + 1
				:: else
				fi;
				if :: inFlight(w) == 0 -> kick() :: else fi;
				w = 0; next = 0;
				break
			:: else
			fi
		od;
		if
		:: !ok
		:: ok ->
			if
			:: failed = false
			:: failed = true
#ifndef VERDICTS /* success and failure alone */
			:: skip; goto cancelled
			:: atomic { !hung -> hung = true; first(id, ok); if :: ok -> unsettled-- :: else fi }; goto over
#endif
			fi;
			/* Report: first */
			atomic { first(id, ok) }
			if :: !ok -> goto over :: else fi;
			if
			:: !probe ->
				/* countClosed */
				if
				:: generation(word) != gen -> unsettled--
				:: else ->
					unsettled--;
					if :: failed -> g = gen; trip(g, false) :: else fi
				fi;
				goto over
			:: else
			fi;
			/* settleProbe */
			giveUp();
			do
			:: true ->
				e = evidence;                   /* E4: before the word */
				w = word;
				if
				:: generation(w) != gen -> unsettled--; goto over
				:: else
				fi;
				/* judge */
				e2 = evidenceOf(e, generation(w));
				does = goOn;
				if
				:: cutOf(e2) != ticketCut -> next = e; failed = true; does = 4 /* only the place */
				:: else ->
					if
					:: !failed ->
						next = packEvidence(generation(w), cutOf(e2), 1, (tallyOf(e2) > 0 -> tallyOf(e2) - 1 : 0));
						does = (3 * inFlight(w) < window(w) -> 4 : goOn)
					:: failed && !aliveOf(e2) && cutOf(e2) == 0 -> next = e2; does = reopen
					:: failed && (aliveOf(e2) || cutOf(e2) > 0) && tallyOf(e2) + 1 < NETFAILURES ->
						next = e2 + 1; does = 4
					:: failed && (aliveOf(e2) || cutOf(e2) > 0) && tallyOf(e2) + 1 >= NETFAILURES ->
						if
						:: !aliveOf(e2) || window(w) <= 1 || others == 0 ->
							next = packEvidence(generation(w), cutOf(e2), aliveOf(e2), 0); does = reopen
						:: else ->
							next = packEvidence(generation(w), (cutOf(e2) == 7 -> 1 : cutOf(e2) + 1), 0, 0); does = cut
						fi
					fi
				fi;
				atomic {
					if
					:: evidence == e ->
						evidence = next; ok = true; probesFired = 0;
						if
						:: generation(word) == gen ->
							if
							:: !failed -> succeeded = true; aliveGhost = true
							:: does == cut -> aliveGhost = false
							:: else
							fi
						:: else
						fi
					:: else -> ok = false
					fi
				}
				if :: ok -> break :: else fi
			od;
			e = 0; e2 = 0; w = 0; next = 0;
			atomic { placeDue = false; timeoutDue = false; probesFired = 0 } /* heard */
			unsettled--;
			/* take */
			if
			:: does == reopen -> g = gen; trip(g, false)
			:: else ->
				do
				:: true ->
					w = word;
					if
					:: generation(w) != gen -> break
					:: else
					fi;
					if
					:: does == cut ->
						next = (others < window(w) -> others : window(w));
						next = (next * 5 / 8 < 1 -> 1 : next * 5 / 8)
					:: does == goOn && !failed && window(w) < MAXWINDOW -> next = window(w) + 1
					:: else -> next = window(w)
					fi;
					next = pack(phase(w), inFlight(w) - 1, next, generation(w));
					atomic {
						if
						:: word == w -> assert(generation(w) == gen); word = next; live--; probesFired = 0; check(); ok = true
						:: else -> ok = false
						fi
					}
					if :: ok -> break :: else fi
				od
			fi;
			goto over;
cancelled:
			atomic { first(id, ok) }
			if :: !ok -> goto over :: else fi;
			if
			:: !probe ->
				if :: generation(word) != gen -> unsettled-- :: else -> unsettled-- fi;
				goto over
			:: else
			fi;
			/* returnProbe */
			giveUp();
			do
			:: true ->
				w = word;
				if
				:: generation(w) != gen -> unsettled--; break
				:: else
				fi;
				next = pack(phase(w), inFlight(w) - 1, window(w), generation(w));
				atomic {
					if
					:: word == w -> assert(generation(w) == gen); word = next; live--; probesFired = 0; check(); unsettled--; ok = true
					:: else -> ok = false
					fi
				}
				if :: ok -> break :: else fi
			od;
over:
			atomic { share(id, false); gen = 0; probe = false; others = 0; does = 0; next = 0; e = 0; e2 = 0; g = 0; w = 0; seen = 0; ticketCut = 0; failed = false; done = false }
		fi
	od
}

/* Trip and Reset, each once, at any time. */
proctype operator() {
	int w;
	byte seen, g;
	bool ok, done;
	if
	:: w = word;
		if
		:: phase(w) != phaseOpen -> g = generation(w); trip(g, false)
		:: else
		fi
	:: skip
	fi;
	if
	:: true ->
		ok = false;
		do
		:: ok -> break
		:: else ->
			w = word;
			atomic {
				if
				:: word == w -> word = to(w, phaseClosed, 0); changed(w); check(); ok = true
				:: else
				fi
			}
		od;
		kick()
	:: skip
	fi
}

#ifdef TWICE
/* A second settling of the first caller's ticket: Cancel, from elsewhere. */
proctype twice() {
	bool ok;
	int w, next;
	byte gen;
	bool probe;
end:
	atomic {
		sharedOut -> gen = sharedGen; probe = sharedProbe; ok = !sharedSettled; sharedSettled = true
	}
	if
	:: !ok
	:: ok && !probe -> if :: generation(word) != gen -> unsettled-- :: else -> unsettled-- fi
	:: ok && probe ->
		do
		:: true ->
			w = word;
			if :: generation(w) != gen -> unsettled--; break :: else fi;
			next = pack(phase(w), inFlight(w) - 1, window(w), generation(w));
			atomic {
				if
				:: word == w -> assert(generation(w) == gen); word = next; live--; probesFired = 0; check(); unsettled--; ok = false
				:: else
				fi
			}
			if :: !ok -> break :: else fi
		od
	fi
}
#endif

/* onTimer, work, tickOpen and tickHalfOpen */
proctype worker() {
	int w, now, e;
	byte next, seen, g;
	bool ok, done, alive;
end:
	do
	:: atomic { fired -> fired = false; working = true }
		do
		:: true ->
			kicked = false;             /* kicks := b.kicks.Load() */
			/* work */
			do
			:: true ->
				now = word;
				if
				:: phase(now) == phaseClosed ->
					next = never;
#ifdef BRAKE
					if
					:: skip
					:: !braked ->           /* enough samples are late: toHalfOpen */
						next = asSoon;
						e = evidence;
						if
						:: word == now ->
							atomic {
								if
								:: evidence == e -> evidence = packEvidence(generation(now) + 1, 1, 0, 0); ok = true
								:: else -> ok = false
								fi
							}
							if
							:: ok ->
								atomic {
									if
									:: word == now ->
										braked = true;
										word = to(now, phaseHalfOpen, 2); changed(now); raised = true; check()
									:: else -> ok = false
									fi
								}
								if :: ok -> kick() :: else fi
							:: else
							fi
						:: else
						fi
					fi
#endif
				:: phase(now) == phaseOpen ->
					/* tickOpen: E2, the word was read first */
					if
					:: waitOf != generation(now) -> next = asSoon
					:: else ->
						if
						:: !waitOver -> next = atCool
						:: else ->
							next = asSoon;
							atomic {
								if
								:: word == now ->
									assert(waitOf == generation(now) && ownOver);
									word = to(now, phaseHalfOpen, 1); changed(now); check(); ok = true
								:: else -> ok = false
								fi
							}
							if :: ok -> kick() :: else fi
						fi
					fi
				:: phase(now) == phaseHalfOpen ->
					/* tickHalfOpen */
					e = evidenceOf(evidence, generation(now));
					alive = aliveOf(e);
					done = false;
					if
					:: quietDue ->
						if
						:: alive && fullMark != generation(now) + 1 ->
							atomic {
								if
								:: word == now ->
									assert(aliveGhost);
									word = to(now, phaseClosed, 0); changed(now); check(); ok = true
								:: else -> ok = false
								fi
							}
							if :: ok -> kick() :: else fi;
							done = true
						:: else ->
							atomic {
								if
								:: inFlight(now) < window(now) && fullMark == generation(now) + 1 -> fullMark = 0
								:: else
								fi;
								quietDue = false
							}
						fi
					:: else
					fi;
					if
					:: done -> next = asSoon
					:: else ->
						giveUp();
						if
						:: inFlight(now) >= window(now) && placeDue && window(now) < MAXWINDOW ->
							atomic {
								if
								:: word == now && placeDue ->
									word = pack(phaseHalfOpen, inFlight(now), window(now) + 1, generation(now));
									raised = true; placeDue = false; check(); now = word; ok = true
								:: else -> ok = false
								fi
							}
						:: else
						fi;
						if
						:: inFlight(now) > 0 || alive || fullMark == generation(now) + 1 -> next = atProbes
						:: else -> next = never
						fi
					fi
				fi;
				if
				:: generation(word) == generation(now) -> break
				:: else
				fi
			od;
			atomic { timer = next; timerOf = (next == atCool -> generation(now) : 0); w = 0; now = 0; e = 0; seen = 0; g = 0; ok = false; done = false; alive = false }
			if
			:: !kicked -> break
			:: else
			fi
		od;
		atomic { next = 0; working = false }
	od
}

/* Time passes up to what the timer was set for, or beyond. */
proctype time() {
end:
	do
	:: atomic { timer == asSoon -> timer = never; fired = true }
	:: atomic {
		timer == atCool -> timer = never; fired = true;
		if
		:: waitOf == timerOf -> waitOver = true; pubOver = true; ownOver = (waitOf == generation(word) -> true : ownOver)
		:: else
		fi;
		timerOf = 0
	}
	:: atomic { phase(word) == phaseOpen && waitOf == generation(word) && !waitOver && timer != atCool -> waitOver = true; pubOver = true; ownOver = true }
	:: atomic {
		timer == atProbes && probesFired == 0 -> timer = never; fired = true; probesFired = 1;
		quietDue = true; placeDue = (inFlight(word) > 0)
	}
	:: atomic { /* as long as it takes */
		timer == atProbes -> timer = never; fired = true; probesFired = (working -> probesFired : probesFired + 1);
		quietDue = true; placeDue = (inFlight(word) > 0); timeoutDue = (inFlight(word) > 0);
		assert(probesFired < 5)  /* nothing came of it, again and again */
	}
	od
}

/* At rest: nothing that time would have to bring about is left. */
proctype rest() {
end:
	atomic {
		timeout ->
		assert(phase(word) != phaseOpen);
		assert(phase(word) != phaseHalfOpen || inFlight(word) == 0);
		assert(phase(word) != phaseHalfOpen || !aliveOf(evidenceOf(evidence, generation(word))));
		assert(unsettled == 0)
	}
}

init {
	atomic {
		byte i;
		for (i : 0 .. CALLERS - 1) { run caller(i) }
#ifdef OPERATOR
		run operator();
#endif
#ifdef TWICE
		run twice();
#endif
		run worker();
		run time();
		run rest()
	}
}
