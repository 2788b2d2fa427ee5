(** * Exact ratios of four instances, checked by the kernel

    [kvbounds exact] wrote the certificates of [CertificateData.v]; here the
    kernel evaluates [check] on each of them. *)

From KVBounds Require Import Certificate CertificateData.

Local Open Scope nat_scope.

(** Three single tokens, B = 2: the ratio is 2 = B - u + 1. *)
Theorem certified_star : exact_ratio (forest_of [None; None; None]) 2 1 [0; 1; 2] 2 1 0.
Proof. apply (certificate_sound star). vm_compute. reflexivity. Qed.

(** The broom of Theorem 2 with L = 2, B = 3: the ratio is 2 = B - L + 1. *)
Theorem certified_broom :
  exact_ratio (forest_of [None; Some 0; Some 0; Some 0]) 3 1 [1; 2; 3] 2 1 0.
Proof. apply (certificate_sound broom_3). vm_compute. reflexivity. Qed.

(** Batches of two of four queries of two tokens, B = 4: the ratio is
    2 = B - L - beta + 2. *)
Theorem certified_batches :
  exact_ratio (forest_of [None; Some 0; Some 0; Some 0; Some 0]) 4 2 [1; 2; 3; 4] 2 1 0.
Proof. apply (certificate_sound broom_4). vm_compute. reflexivity. Qed.

(** Two chains of two tokens and a single token, B = 3.  No closed form gives
    this ratio: it is 5/3, and B - u + 1 = 3. *)
Theorem certified_ratio :
  exact_ratio (forest_of [None; Some 0; None; Some 2; None]) 3 1 [1; 3; 4] 5 3 0.
Proof. apply (certificate_sound chains). vm_compute. reflexivity. Qed.

(** The checker can say no: another ratio, another cost of the cycle, another
    edge, another potential, a batch left out. *)
Definition edited (c : certificate) p q paid automaton values batches : certificate :=
  Certificate (parents c) (capacity c) (beta c) (asked c) p q (additive c) (prefix c) (cycle c)
    paid (cycle_owed c) batches automaton (optimum_automaton c) (states c) values.

Example rejected :
  let a := leaf_lru_automaton star in
  let edge := Automaton ([1; 2; 2] :: tl (targets a)) (costs a) in
  map check
    [edited star 2 1 6 a (potential star) (steps star);
     edited star 3 2 6 a (potential star) (steps star);
     edited star 2 1 5 a (potential star) (steps star);
     edited star 2 1 6 edge (potential star) (steps star);
     edited star 2 1 6 a (repeat 0 16) (steps star);
     edited star 2 1 6 a (potential star) (tl (steps star))]
  = [true; false; false; false; false; false].
Proof. vm_compute. reflexivity. Qed.
