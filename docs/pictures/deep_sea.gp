# SPDX-License-Identifier: Apache-2.0
# gnuplot deep_sea.gp: the share of seeds that solve deep sea, by the reward for exploring (docs/results.md), with 95 % intervals
# (Wilson). A block of a kind: size, share, interval.
$deep_sea_none << EOD
8.2 0.17 0.030 0.564
18.2 0.00 0.000 0.434
28.2 0.00 0.000 0.562
38.2 0.00 0.000 0.562
48.2 0.00 0.000 0.562
EOD
$deep_sea_td_error << EOD
9.1 1.00 0.610 1.000
19.1 1.00 0.610 1.000
29.1 0.60 0.231 0.882
39.1 0.00 0.000 0.490
49.1 0.00 0.000 0.490
EOD
$deep_sea_energy_distance << EOD
10.0 1.00 0.610 1.000
20.0 0.20 0.036 0.624
30.0 0.20 0.036 0.624
40.0 0.00 0.000 0.490
50.0 0.00 0.000 0.562
EOD
$deep_sea_cramer_distance << EOD
EOD
$deep_sea_rnd << EOD
11.8 1.00 0.610 1.000
21.8 0.80 0.376 0.964
31.8 0.60 0.231 0.882
41.8 0.00 0.000 0.490
51.8 0.00 0.000 0.562
EOD
$deep_sea_stochastic_none << EOD
8.2 0.50 0.150 0.850
18.2 0.00 0.000 0.490
28.2 0.00 0.000 0.490
EOD
$deep_sea_stochastic_td_error << EOD
9.1 0.00 0.000 0.490
19.1 0.00 0.000 0.490
29.1 0.00 0.000 0.490
EOD
$deep_sea_stochastic_energy_distance << EOD
10.0 0.00 0.000 0.490
20.0 0.00 0.000 0.490
30.0 0.00 0.000 0.490
EOD
$deep_sea_stochastic_cramer_distance << EOD
EOD
$deep_sea_stochastic_rnd << EOD
11.8 1.00 0.510 1.000
21.8 1.00 0.510 1.000
31.8 1.00 0.510 1.000
EOD
set terminal pngcairo size 1000,400 font "sans,11" enhanced
set output "deep_sea.png"
set multiplot layout 1,2
set yrange [-0.05:1.05]
set xrange [6:54]
set xtics 10,10,50
set xlabel "size N"
set ylabel "seeds that solve it"
set grid ytics lc "#dddddd"
set key off
set title "deep sea"
plot $deep_sea_none using 1:2:3:4 with yerrorlines lw 2 pt 1 lc "#777777" title "none", \
     $deep_sea_td_error using 1:2:3:4 with yerrorlines lw 2 pt 7 lc "#0072b2" title "TD error", \
     $deep_sea_energy_distance using 1:2:3:4 with yerrorlines lw 2 pt 5 lc "#d55e00" title "energy distance", \
     $deep_sea_cramer_distance using 1:2:3:4 with yerrorlines lw 2 pt 9 lc "#cc79a7" title "its root (Cramér)", \
     $deep_sea_rnd using 1:2:3:4 with yerrorlines lw 2 pt 13 lc "#009e73" title "RND"
set title "stochastic deep sea"
unset ylabel
set xrange [6:34]
set key outside right center
plot $deep_sea_stochastic_none using 1:2:3:4 with yerrorlines lw 2 pt 1 lc "#777777" title "none", \
     $deep_sea_stochastic_td_error using 1:2:3:4 with yerrorlines lw 2 pt 7 lc "#0072b2" title "TD error", \
     $deep_sea_stochastic_energy_distance using 1:2:3:4 with yerrorlines lw 2 pt 5 lc "#d55e00" title "energy distance", \
     $deep_sea_stochastic_cramer_distance using 1:2:3:4 with yerrorlines lw 2 pt 9 lc "#cc79a7" title "its root (Cramér)", \
     $deep_sea_stochastic_rnd using 1:2:3:4 with yerrorlines lw 2 pt 13 lc "#009e73" title "RND"
unset multiplot
