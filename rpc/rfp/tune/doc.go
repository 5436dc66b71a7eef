// Package tune chooses the numbers that a client of rfp works with: R and F of
// fetching, and the batch size. It computes and knows no fabric; `remora tune`
// measures for it. It follows RF-RPC, sections 3.2 and 4.2.
//
// # Terms
//
//   - R is how many READs are spent on a result before the server is asked to
//     reply; F is the size of the first READ. A result whose frame is longer
//     than F takes a second one.
//   - S is the length of a result frame, headers included (wire.ResultBytes of
//     its entry), P the time that the server takes for a result.
//   - I(R,F) is how many results a second the hardware delivers when each takes
//     R READs of F bytes.
//   - A profile is what is known of the hardware: I(R,F), the time of one READ,
//     the rate of replies, and the bounds of the search: R in [1,N], F in [L,H].
//     Below L a READ is not faster, above H bandwidth is what counts, and from N
//     READs on fetching gains no more than a tenth over replying.
//   - A sample is what is known of an application: its S and its P.
//
// # Choosing R and F
//
// Equation (2) of the paper gives each result i of a sample the rate
//
//	T(i) = I(R,F)    if S(i) <= F
//	       I(R,F)/2  otherwise, as two READs are needed
//
// and takes the R and F with the greatest sum. The paper's text says what R has
// to do with P: a client fetches again and again until the result is there, R
// times at most, then it has the server reply. So a result needs as many READs as
// cover its P,
//
//	k(i) = max(1, P(i) / time of a READ of F bytes, rounded up)
//
// and the sum is over
//
//	T(i) = I(k(i),F), halved as above    if k(i) <= R
//	       rate of replies of S(i)       otherwise
//
// A larger R helps only as long as there are results that it covers and the
// others do not, and only while fetching them is better than replying. A sample
// without process times stands for one in which 1 to N READs are needed equally
// often, so that R becomes the largest that the hardware rewards. Sizes and
// process times are taken as independent, because the paper's equation has them
// apart and a table of both would be a thousand times as large.
//
// What Remora calls Retries is the number of READs that may fail, so that it
// spends one more than R when it is in doubt; and it waits before the first READ
// as long as it has learned to. Both make fetching better than computed here.
//
// # Choosing the batch size
//
// Equation (3) changes the batch size by one: down when more than alpha of the
// requests took longer than the limit, up when less than alpha/10 did. Alone it
// would not keep its promise: at a size that is good and next to one that is
// not, it would spend half of the time at the wrong one. Batch therefore
//
//   - ends an epoch as soon as it is lost,
//   - remembers the size that was lost and tries it again rarely, twice as
//     rarely after each time in vain, and
//   - keeps an account: every request earns alpha, every one over the limit costs
//     1. A size that is not known to be good is tried only if the account can pay
//     for the worst, and an overdrawn account makes the size smaller.
//
// In return it may also try the next size where equation (3) stays, between
// alpha/10 and alpha/2.
//
// # Invariants
//
//	U1  Choose returns a maximum over all R in [1,N] and F in [L,H]; of equal
//	    ones the smallest F, and of those the smallest R. Where no result is
//	    fetched, so that F does not matter, F is the best for fetching.
//	U2  Sums are made so that equal candidates have equal bits: what an R adds
//	    that covers no result is zero.
//	U3  A profile that was loaded or made satisfies validate; nothing after that
//	    checks again.
//	U4  Recording a result, a time or a latency takes constant time and allocates
//	    nothing; the memory of a sample is fixed.
//	U5  Nothing here reads a clock. Sample, Tuner and Batch belong to one
//	    goroutine at a time.
//	U6  A Tuner changes its choice only when the gain was more than the threshold
//	    in several periods in a row.
//	U7  The size of a Batch is in [1, max], and changes by one.
//
// # Why not otherwise
//
// A histogram of sizes to the byte, and not a reservoir: F has to reach the last
// byte of a frame, and 32 KiB hold every length for which fetching makes sense.
// Times have a histogram with steps of 3 %, which no decision depends on.
//
// Between two sizes of a profile the time of an operation is interpolated, not
// its rate: the time is what is linear in the size.
package tune
