//! Every effect on the outside: thinkers and actuators.
