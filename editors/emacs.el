;;; Emacs 29 and newer, with Eglot: in init.el. One server a mode is what Eglot has, so this takes the place of another.

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               '((python-mode python-ts-mode)
                 . ("fullgraph" "server" :initializationOptions (:trusted :json-false :notes :json-false)))))

(add-hook 'python-base-mode-hook #'eglot-ensure)
