(** * Numbers computed by the kernel, to be compared with the Python model

    Caches start empty.  Costs are misses; expectations are exact. *)

From KVBounds Require Import Sanity Lemma1 OptDelta Unbounded RLT Theorem4.

Local Open Scope nat_scope.

(** Single tokens, one a step. *)
Definition singles : list nat -> list (list nat) := map (fun t : nat => [t]).
Definition ten : list (list nat) := singles [0; 1; 2; 0; 1; 2; 3; 1; 0; 2].

Example ten_B2 :
  (policy_cost (leaf_lru flat 2) ten, opt flat 2 ten, deltas 2 ten) = (10, 7, 7).
Proof. vm_compute. reflexivity. Qed.

Example ten_B3 :
  (policy_cost (leaf_lru flat 3) ten, opt flat 3 ten, deltas 3 ten) = (6, 5, 5).
Proof. vm_compute. reflexivity. Qed.

Example ten_rlt :
  (Qred (expected_cost (rlt flat 2 ten) ten), Qred (expected_cost (rlt_step flat 2 ten) ten))
  = ((17 # 2)%Q, (17 # 2)%Q).
Proof. vm_compute. reflexivity. Qed.

Example ten_seated :
  Qred (Exp (random_seated flat 2 (@hd nat 0) [0; 1; 2; 3]) (fun pol => qn (policy_cost pol ten)))
  = (17 # 2)%Q.
Proof. vm_compute. reflexivity. Qed.

(** The forest [-1, -1, 0, 0, 1, 2], B = 4, single queries: here rlt and
    rlt-step differ. *)
Definition ten_queries : list (list nat) := queries [5; 3; 4; 3; 5; 4; 3; 4; 5; 3].

Example queries_B4 :
  (policy_cost (leaf_lru small 4) ten_queries, opt small 4 ten_queries, deltas 4 ten_queries)
  = (14, 12, 12).
Proof. vm_compute. reflexivity. Qed.

Example queries_rlt :
  (Qred (expected_cost (rlt small 4 ten_queries) ten_queries),
   Qred (expected_cost (rlt_step small 4 ten_queries) ten_queries))
  = ((55 # 4)%Q, (219 # 16)%Q).
Proof. vm_compute. reflexivity. Qed.

(** Batches: 5 / 3 4 / 5 / 3 4 / 5 / 5 3 / 4. *)
Definition batches : list (list nat) :=
  map (footprint small) [[5]; [3; 4]; [5]; [3; 4]; [5]; [5; 3]; [4]].

Example batches_B4 :
  (policy_cost (leaf_lru small 4) batches, opt small 4 batches, deltas 4 batches)
  = (15, 14, 14).
Proof. vm_compute. reflexivity. Qed.

Example batches_rlt : Qred (expected_cost (rlt small 4 batches) batches) = (59 # 4)%Q.
Proof. vm_compute. reflexivity. Qed.

(** Single tokens 0 0 1 2 1 2 1 2 1 2, B = 2. *)
Definition stuck_run : list (list nat) := singles [0; 0; 1; 2; 1; 2; 1; 2; 1; 2].

Example stuck_costs :
  (map (fun pol => policy_cost pol stuck_run)
       [lfu flat 2; slru flat 2; mru flat 2; filo flat 2; leaf_lru flat 2],
   opt flat 2 stuck_run) = ([9; 9; 9; 9; 3], 3).
Proof. vm_compute. reflexivity. Qed.
