// SPDX-License-Identifier: Apache-2.0
// output[i] = input[i] * SCALE + addend, for the test of the Vulkan driver's lower half.
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint SCALE = 1;
layout(set = 0, binding = 0) readonly buffer Input { uint words[]; } from;
layout(set = 0, binding = 1) buffer Output { uint words[]; } to;
layout(push_constant) uniform Block { uint from_begin, to_begin, count, addend; } block;
void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < block.count)
        to.words[block.to_begin + i] = from.words[block.from_begin + i] * SCALE + block.addend;
}
