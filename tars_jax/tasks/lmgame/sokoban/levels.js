// Six levels of our own that grow as those of LMGame-Bench do. # is a wall, @ the worker, $ a box, ? a target, * a box on a
// target, + the worker on one; . is read as ?.
"use strict";

const LEVELS = Kit.fixed([
  `#######
#     #
# @$? #
#     #
# ?$  #
#     #
#######`,
  `########
#  #   #
#  $   #
#@#  ###
# $ ?? #
#   #  #
########`,
  `########
###   ##
#@$ # ##
# #    #
#  ??$ #
####   #
########`,
  `#########
#   #   #
# $   $ #
##? # ?##
#   @   #
##? # ?##
# $   $ #
#   #   #
#########`,
  `########
#   ####
# # @  #
# $ $# #
#??    #
#   $ ##
# ?#  ##
########`,
  `#########
####  ###
#  $    #
# #? #$ #
# ?@  ? #
# # $#  #
#     ###
#########`,
]);
