graph [
 directed 0
 node [ id 7 label "A B" ]
 node [ id 9 type "switch" ]
 node [ id 3 ]
 edge [ source 7 target 9 width 3 ]
 edge [ source 9 target 3 ]
]
