/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of attention over pages and of its score sums. */
uint tokens;
uint heads;
uint kv_heads;
uint sequences;
uint pages;
uint page;
uint window;
uint causal;
uint key_pitch;
uint value_pitch;
uint slots;
float scale;
float softcap;
uint sinks;
uint block; /* places under a bit of the mask, 0: there is none */
#ifdef BIASED
uint biases; /* 1: slope, 2: sink, which the sums of part 0 hold */
#endif
