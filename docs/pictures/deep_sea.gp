# SPDX-License-Identifier: Apache-2.0
# gnuplot deep_sea.gp: the share of seeds that solve deep sea, by the reward for exploring (docs/results.md), with 95 % intervals
# (Wilson). A block of a kind: size, share, interval.
$deep_sea_none << EOD
8.2 0.10 0.018 0.404
18.2 0.00 0.000 0.278
28.2 0.00 0.000 0.278
38.2 0.00 0.000 0.278
48.2 0.00 0.000 0.278
EOD
$deep_sea_td_error << EOD
9.1 1.00 0.722 1.000
19.1 1.00 0.722 1.000
29.1 0.40 0.168 0.687
39.1 0.00 0.000 0.278
49.1 0.00 0.000 0.278
EOD
$deep_sea_energy_distance << EOD
10.0 1.00 0.722 1.000
20.0 0.30 0.108 0.603
30.0 0.10 0.018 0.404
40.0 0.00 0.000 0.278
50.0 0.00 0.000 0.278
EOD
$deep_sea_cramer_distance << EOD
10.9 1.00 0.722 1.000
20.9 0.90 0.596 0.982
30.9 0.10 0.018 0.404
40.9 0.00 0.000 0.278
50.9 0.00 0.000 0.278
EOD
$deep_sea_rnd << EOD
11.8 1.00 0.722 1.000
21.8 0.80 0.490 0.943
31.8 0.60 0.313 0.832
41.8 0.20 0.057 0.510
51.8 0.30 0.108 0.603
EOD
$deep_sea_stochastic_none << EOD
8.2 0.60 0.313 0.832
18.2 0.00 0.000 0.278
28.2 0.00 0.000 0.278
38.2 0.00 0.000 0.278
48.2 0.00 0.000 0.278
EOD
$deep_sea_stochastic_td_error << EOD
9.1 0.00 0.000 0.278
19.1 0.00 0.000 0.278
29.1 0.00 0.000 0.278
39.1 0.00 0.000 0.278
49.1 0.00 0.000 0.278
EOD
$deep_sea_stochastic_energy_distance << EOD
10.0 0.00 0.000 0.278
20.0 0.00 0.000 0.278
30.0 0.00 0.000 0.278
40.0 0.00 0.000 0.278
50.0 0.00 0.000 0.278
EOD
$deep_sea_stochastic_cramer_distance << EOD
10.9 0.00 0.000 0.278
20.9 0.00 0.000 0.278
30.9 0.00 0.000 0.278
40.9 0.00 0.000 0.278
50.9 0.00 0.000 0.278
EOD
$deep_sea_stochastic_rnd << EOD
11.8 1.00 0.722 1.000
21.8 1.00 0.722 1.000
31.8 0.90 0.596 0.982
41.8 0.80 0.490 0.943
51.8 0.30 0.108 0.603
EOD
set terminal pngcairo size 1000,400 font "sans,11" enhanced
set output "deep_sea.png"
set multiplot
set yrange [-0.05:1.05]
set xrange [6:54]
set xtics 10,10,50
set xlabel "size N"
set ylabel "seeds that solve it"
set grid ytics lc "#dddddd"
set key off
set origin 0,0
set size 0.5,1
set title "deep sea"
plot $deep_sea_none using 1:2:3:4 with yerrorlines lw 2 pt 1 lc "#777777" title "none", \
     $deep_sea_td_error using 1:2:3:4 with yerrorlines lw 2 pt 7 lc "#0072b2" title "TD error", \
     $deep_sea_energy_distance using 1:2:3:4 with yerrorlines lw 2 pt 5 lc "#d55e00" title "energy distance", \
     $deep_sea_cramer_distance using 1:2:3:4 with yerrorlines lw 2 pt 9 lc "#cc79a7" title "its root (Cramér)", \
     $deep_sea_rnd using 1:2:3:4 with yerrorlines lw 2 pt 13 lc "#009e73" title "RND"
set origin 0.5,0
set size 0.5,1
set title "stochastic deep sea"
unset ylabel
set key at graph 0.64, graph 0.57 right top
plot $deep_sea_stochastic_none using 1:2:3:4 with yerrorlines lw 2 pt 1 lc "#777777" title "none", \
     $deep_sea_stochastic_td_error using 1:2:3:4 with yerrorlines lw 2 pt 7 lc "#0072b2" title "TD error", \
     $deep_sea_stochastic_energy_distance using 1:2:3:4 with yerrorlines lw 2 pt 5 lc "#d55e00" title "energy distance", \
     $deep_sea_stochastic_cramer_distance using 1:2:3:4 with yerrorlines lw 2 pt 9 lc "#cc79a7" title "its root (Cramér)", \
     $deep_sea_stochastic_rnd using 1:2:3:4 with yerrorlines lw 2 pt 13 lc "#009e73" title "RND"
unset multiplot
