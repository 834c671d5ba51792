# vkf_ask_again(<variable>): forgets an answer "no" that a check has kept, since what it asked for may have been installed
# since. find_package() and its kind ask again by themselves.
macro(vkf_ask_again variable)
    if(NOT ${variable})
        unset(${variable} CACHE)
    endif()
endmacro()
