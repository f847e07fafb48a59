;;; Packages of a skill under SBCL, and what the shared part of the language is written in.

(defpackage :bridle
  (:use)
  (:export "ACT" "NOW" "RANDOM" "STATE" "SAVE-STATE" "DONE-P" "RESULT"
           "DEFSKILL" "DEFTOOL" "DEFCOMMAND" "DEFACTUATOR" "DEFPROVIDER"))

(defpackage :bridle-user
  (:use :common-lisp)
  (:import-from :bridle "DEFSKILL" "DEFTOOL" "DEFCOMMAND" "DEFACTUATOR" "DEFPROVIDER"))

(in-package :bridle-user)

(declaim (sb-ext:muffle-conditions warning sb-ext:compiler-note))
(defun %fresh () (gensym))
(defun %keyword (name) (intern name :keyword))
