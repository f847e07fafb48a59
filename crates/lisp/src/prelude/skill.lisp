;;; What a skill is made of, and what it asks its host for. Every definition is kept as data that the host reads.

(defvar *%parts* nil)

(defun %define-part (kind name facts function)
  (setq *%parts*
        (cons (list kind name facts function)
              (remove-if (lambda (part) (and (eq (car part) kind) (equal (cadr part) name))) *%parts*)))
  name)

(defun %part-name (name) (if (stringp name) name (string-downcase (symbol-name name))))

;;; Host: the parts in the order of their definition, and calls of them.

(defun %skill-parts ()
  (mapcar (lambda (part) (list :kind (car part) :name (cadr part) :facts (caddr part))) (reverse *%parts*)))

(defun %skill-run (kind name arguments)
  (let ((part (find-if (lambda (part) (and (eq (car part) kind) (equal (cadr part) name))) *%parts*)))
    (if part
        (apply (cadddr part) arguments)
        (error "the skill defines no ~(~a~) ~a" kind name))))

(defun %skill-value (name) (funcall name))

;;; Typed arguments: NAME or (NAME TYPE ["text"] [:optional [DEFAULT]] [:choices (..)]).

(defun %parameter (spec)
  (let* ((spec (if (consp spec) spec (list spec 'string)))
         (name (%part-name (car spec)))
         (type (if (cdr spec) (%part-name (cadr spec)) "string"))
         (rest (cddr spec))
         (doc (if (stringp (car rest)) (prog1 (car rest) (setq rest (cdr rest))) ""))
         (optional (member :optional rest))
         (choices (cadr (member :choices rest))))
    (if (not (member type '("string" "integer" "number" "boolean" "keyword" "list" "any") :test #'equal))
        (error "~a is no type of an argument: expected string, integer, number, boolean, keyword, list or any" type))
    (list :name name :key (%keyword (string-upcase name)) :type type :doc doc
          :optional (if optional t nil)
          :default (if (and (cdr optional) (not (eq (cadr optional) :choices))) (cadr optional) nil)
          :choices choices)))

(defun %fits-argument (type value)
  (cond ((equal type "string") (stringp value))
        ((equal type "integer") (integerp value))
        ((equal type "number") (realp value))
        ((equal type "boolean") (or (eq value t) (null value) (eq value :false)))
        ((equal type "keyword") (keywordp value))
        ((equal type "list") (listp value))
        (t t)))

(defun %argument (given fact)
  (let* ((absent (list nil))
         (value (getf given (getf fact :key) absent))
         (choices (getf fact :choices)))
    (cond ((eq value absent)
           (if (getf fact :optional)
               (getf fact :default)
               (error "argument ~a is missing" (getf fact :name))))
          ((not (%fits-argument (getf fact :type) value))
           (error "argument ~a is ~s, expected ~a" (getf fact :name) value (getf fact :type)))
          ((and choices (not (member value choices :test #'equal)))
           (error "argument ~a is ~s, expected one of ~{~s~^, ~}" (getf fact :name) value choices))
          ((eq value :false) nil)
          (t value))))

(defun %split-doc (body &optional may-be-alone)
  (if (and (stringp (car body)) (or may-be-alone (cdr body))) (values (car body) (cdr body)) (values "" body)))

(defun %stage-clauses (kind owner clauses known)
  (mapcar
   (lambda (clause)
     (if (not (and (consp clause) (symbolp (car clause)) (listp (cadr clause))))
         (error "~s is no stage: expected (STAGE (ARGUMENTS..) FORMS..)" clause))
     (let ((stage (%part-name (car clause))))
       (if (not (member stage known :test #'equal))
           (error "~a is no stage: expected one of ~{~a~^, ~}" stage known))
       `(%define-part ,kind ,stage '(:of ,owner) (lambda ,(cadr clause) ,@(cddr clause)))))
   clauses))

(defmacro bridle:defskill (name &body clauses)
  (multiple-value-bind (doc clauses) (%split-doc clauses t)
    (let ((name (%part-name name)))
      `(progn
         (%define-part :skill ,name '(:doc ,doc) nil)
         ,@(%stage-clauses :stage name clauses '("perceive" "think" "decide"))
         ,name))))

(defmacro bridle:defprovider (name &body clauses)
  (multiple-value-bind (doc clauses) (%split-doc clauses t)
    (let ((name (%part-name name)))
      `(progn
         (%define-part :provider ,name '(:doc ,doc) nil)
         ,@(%stage-clauses :codec name clauses '("encode" "decode"))
         ,name))))

(defmacro bridle:deftool (name parameters &body body)
  (multiple-value-bind (doc body) (%split-doc body)
    (let ((facts (mapcar #'%parameter parameters))
          (given (%fresh)))
      `(%define-part :tool ,(%part-name name) '(:doc ,doc :arguments ,facts)
                     (lambda (,given)
                       (let* ,(mapcar (lambda (spec fact)
                                        `(,(if (consp spec) (car spec) spec) (%argument ,given ',fact)))
                                      parameters facts)
                         ,@body))))))

(defmacro bridle:defcommand (name parameters &body body)
  (multiple-value-bind (doc body) (%split-doc body)
    (if (not (and (listp parameters) (< (length parameters) 3)))
        (error "a command takes its text and its context, got the parameters ~s" parameters))
    `(%define-part :command ,(%part-name name) '(:doc ,doc)
                   (lambda (&optional ,@parameters &rest ,(%fresh)) ,@body))))

(defmacro bridle:defactuator (name parameters &body body)
  (multiple-value-bind (doc body) (%split-doc body)
    (let ((actions (if (and (consp (car body)) (eq (caar body) :actions)) (cdar body) nil)))
      (if (null actions)
          (error "the actuator ~a has no actions: expected (:actions (NAME (ARGUMENT TYPE)..)..)" name))
      (if (not (and (listp parameters) (= (length parameters) 2)))
          (error "an actuator takes an action and its context, got the parameters ~s" parameters))
      `(%define-part :actuator ,(%part-name name)
                     '(:doc ,doc
                       :actions ,(mapcar (lambda (action)
                                           (list :name (%part-name (car action))
                                                 :arguments (mapcar #'%parameter (cdr action))))
                                         actions))
                     (lambda ,parameters ,@(cdr body))))))

;;; Requests to the host. Each returns what the host answers, also when the program runs again after a restart.

(defun bridle:act (target &rest payload) (%host-call (list :do :act :target target :payload payload)))
(defun bridle:now () (%host-call (list :do :now)))
(defun bridle:random (limit) (check-type limit (integer 1)) (%host-call (list :do :random :limit limit)))
(defun bridle:state () (%host-call (list :do :state)))
(defun bridle:save-state (value) (%host-call (list :do :save-state :value value)) value)

(defun bridle:done-p (outcome) (eq (getf outcome :outcome) :done))
(defun bridle:result (outcome)
  (if (bridle:done-p outcome)
      (getf outcome :value)
      (error "~(~a~)~@[: ~a~]" (getf outcome :outcome) (getf outcome :reason))))
